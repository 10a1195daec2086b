/* One end of a transfer over usrsctp, over UDP (RFC 6951): one-to-one sockets, blocking calls, its own default buffers. The words it
 * takes and says are those of ../src/job.rs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

#define SCTP_PORT 9899
/* The client's UDP port lies so far above the server's. */
#define ABOVE 20000
/* 1480 without the headers of IPv4, UDP and SCTP. */
#define PAYLOAD 1440

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct socket *make(uint16_t own, uint16_t other)
{
	usrsctp_init(own, NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	struct socket *sock = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sctp_udpencaps encaps = {.sue_port = htons(other)};
	encaps.sue_address.ss_family = AF_INET;
	int on = 1;
	if (!sock || usrsctp_setsockopt(sock, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps) ||
	    usrsctp_setsockopt(sock, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on))
		die("socket");
	return sock;
}

static void limit_packets(struct socket *sock, const struct sockaddr_in *address)
{
	struct sctp_paddrparams params = {.spp_flags = SPP_PMTUD_DISABLE, .spp_pathmtu = PAYLOAD};
	memcpy(&params.spp_address, address, sizeof *address);
	if (usrsctp_setsockopt(sock, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &params, sizeof params))
		perror("path MTU");
}

static void serve(struct sockaddr_in *address, uint16_t port)
{
	struct socket *listening = make(port, (uint16_t)(port + ABOVE));
	if (usrsctp_bind(listening, (struct sockaddr *)address, sizeof *address) || usrsctp_listen(listening, 1))
		die("bind");
	puts("ready");
	fflush(stdout);
	struct socket *sock = usrsctp_accept(listening, NULL, NULL);
	if (!sock)
		die("accept");
	static char buffer[1 << 18];
	unsigned long long bytes = 0;
	double first = 0, last = 0;
	for (;;) {
		struct sockaddr_in from;
		struct sctp_rcvinfo info;
		socklen_t from_len = sizeof from, info_len = sizeof info;
		unsigned int type = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(sock, buffer, sizeof buffer, (struct sockaddr *)&from, &from_len, &info, &info_len,
					  &type, &flags);
		if (n <= 0)
			break;
		last = now();
		if (!bytes)
			first = last;
		bytes += (unsigned long long)n;
	}
	printf("received %llu %.0f\n", bytes, (last - first) * 1e9);
	fflush(stdout);
	usleep(100000); /* the end of the shutdown is still to be sent */
}

static void send_for(struct sockaddr_in *address, uint16_t port, size_t len, double seconds)
{
	struct socket *sock = make((uint16_t)(port + ABOVE), port);
	if (usrsctp_connect(sock, (struct sockaddr *)address, sizeof *address))
		die("connect");
	limit_packets(sock, address);
	char *message = malloc(len);
	memset(message, 0x5a, len);
	struct sctp_sndinfo info = {0};
	for (double end = now() + seconds; now() < end;)
		if (usrsctp_sendv(sock, message, len, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0)
			die("send");
	struct sctp_status status;
	do {
		usleep(1000);
		socklen_t size = sizeof status;
		memset(&status, 0, sizeof status);
		if (usrsctp_getsockopt(sock, IPPROTO_SCTP, SCTP_STATUS, &status, &size))
			break;
	} while (status.sstat_unackdata || status.sstat_penddata);
	usrsctp_close(sock);
	usleep(100000); /* its threads see to the shutdown */
}

/* usrsctp server|client ADDRESS:PORT LEN [SECONDS] */
int main(int argc, char **argv)
{
	char *colon = argc > 3 ? strchr(argv[2], ':') : NULL;
	if (!colon)
		return 2;
	*colon = 0;
	uint16_t port = (uint16_t)atoi(colon + 1);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(SCTP_PORT)};
	inet_pton(AF_INET, argv[2], &address.sin_addr);
	if (!strcmp(argv[1], "server"))
		serve(&address, port);
	else
		send_for(&address, port, (size_t)atol(argv[3]), argc > 4 ? atof(argv[4]) : 1);
	/* Its threads are not waited for. */
	_exit(0);
}
