/* A peer for the interoperability run: usrsctp over UDP (RFC 6951), told what to do by lines on stdin, and telling what
 * happens by lines on stdout. The lines are described in ../../src/peer.rs. Judges nothing. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <usrsctp.h>

/* In the library, but not in the header that Debian ships (RFC 8260 §4.3.1). */
#define INTERLEAVING_SUPPORTED 0x00001206

#define UDP_PORT 9899
#define STREAMS 64
#define MAX_ADDRS 8
#define MAX_MESSAGE (4 << 20)

static struct socket *sock;
static sctp_assoc_t assoc;
static int family = AF_INET;
static uint16_t own_port;
static pthread_mutex_t out = PTHREAD_MUTEX_INITIALIZER;

/* Parts of messages until their end comes: ordered and unordered. */
struct part {
	uint8_t *bytes;
	size_t len;
};
static struct part parts[65536][2];

static void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&out);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&out);
	va_end(args);
}

/* FNV-1a of 64 bits. */
static uint64_t hash(const uint8_t *bytes, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 0x100000001b3u;
	return h;
}

/* What message `number` of a stream says. */
static void fill(uint8_t *bytes, size_t len, uint32_t stream, uint32_t number)
{
	uint32_t x = number * 2654435761u + stream;
	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (uint8_t)(x >> 24);
	}
}

static void address_text(const void *from, char *text)
{
	const struct sockaddr *sa = from;
	if (sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, text, INET6_ADDRSTRLEN);
}

static void read_address(const char *text, uint16_t port, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof *to);
	if (strchr(text, ':')) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		inet_pton(AF_INET6, text, &in6->sin6_addr);
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)to;
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		inet_pton(AF_INET, text, &in->sin_addr);
	}
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static void assoc_change(const struct sctp_assoc_change *change)
{
	char features[64] = "";
	size_t n = change->sac_length - sizeof *change, used = 0;
	switch (change->sac_state) {
	case SCTP_COMM_UP:
	case SCTP_RESTART:
		assoc = change->sac_assoc_id;
		for (size_t i = 0; i < n && used < sizeof features - 4; i++)
			used += (size_t)sprintf(features + used, " %u", change->sac_info[i]);
		say("%s %u %u features%s", change->sac_state == SCTP_COMM_UP ? "up" : "restart",
		    change->sac_outbound_streams, change->sac_inbound_streams, features);
		break;
	case SCTP_SHUTDOWN_COMP:
		say("closed");
		break;
	default:
		say("lost %u", change->sac_error);
	}
}

static void reset_event(const struct sctp_stream_reset_event *event)
{
	char list[512] = "";
	size_t n = (event->strreset_length - sizeof *event) / sizeof(uint16_t), used = 0;
	for (size_t i = 0; i < n && used < sizeof list - 8; i++)
		used += (size_t)sprintf(list + used, " %u", event->strreset_stream_list[i]);
	uint16_t flags = event->strreset_flags;
	say("reset %s%s%s%s", flags & SCTP_STREAM_RESET_INCOMING_SSN ? "in" : "out",
	    flags & SCTP_STREAM_RESET_DENIED ? " denied" : "", flags & SCTP_STREAM_RESET_FAILED ? " failed" : "", list);
}

static void notification(const union sctp_notification *note)
{
	static const char *const states[] = {"?", "available", "unreachable", "removed", "added", "primary", "confirmed"};
	char text[INET6_ADDRSTRLEN];
	switch (note->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		assoc_change(&note->sn_assoc_change);
		break;
	case SCTP_PEER_ADDR_CHANGE:
		address_text(&note->sn_paddr_change.spc_aaddr, text);
		say("address %s %s", text, states[note->sn_paddr_change.spc_state % 7]);
		break;
	case SCTP_REMOTE_ERROR:
		say("peer-error %u", ntohs(note->sn_remote_error.sre_error));
		break;
	case SCTP_SHUTDOWN_EVENT:
		say("peer-shutdown");
		break;
	case SCTP_AUTHENTICATION_EVENT:
		say("auth %u %u", note->sn_auth_event.auth_keynumber, note->sn_auth_event.auth_indication);
		break;
	case SCTP_STREAM_RESET_EVENT:
		reset_event(&note->sn_strreset_event);
		break;
	case SCTP_ASSOC_RESET_EVENT:
		say("tsn-reset %u", note->sn_assocreset_event.assocreset_flags);
		break;
	case SCTP_STREAM_CHANGE_EVENT:
		say("streams %u %u flags %u", note->sn_strchange_event.strchange_outstrms,
		    note->sn_strchange_event.strchange_instrms, note->sn_strchange_event.strchange_flags);
		break;
	case SCTP_SEND_FAILED_EVENT:
		say("failed %u", note->sn_send_failed_event.ssfe_info.snd_sid);
		break;
	}
}

static int received(struct socket *s, union sctp_sockstore addr, void *data, size_t len, struct sctp_rcvinfo info,
		    int flags, void *ulp)
{
	(void)s, (void)addr, (void)ulp;
	if (!data)
		return 1;
	if (flags & MSG_NOTIFICATION) {
		notification(data);
		free(data);
		return 1;
	}
	int unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
	struct part *part = &parts[info.rcv_sid][unordered];
	part->bytes = realloc(part->bytes, part->len + len + 1);
	memcpy(part->bytes + part->len, data, len);
	part->len += len;
	free(data);
	if (flags & MSG_EOR) {
		say("message %u %s %u %zu %016llx", info.rcv_sid, unordered ? "u" : "o", ntohl(info.rcv_ppid), part->len,
		    (unsigned long long)hash(part->bytes, part->len));
		part->len = 0;
	}
	return 1;
}

static int set(int option, const void *value, size_t len)
{
	return usrsctp_setsockopt(sock, IPPROTO_SCTP, option, value, (socklen_t)len);
}

static int set_feature(int option, uint32_t value)
{
	struct sctp_assoc_value av = {.assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = value};
	return set(option, &av, sizeof av);
}

static int set_key(uint16_t id, const char *text)
{
	struct sctp_authkey *key = calloc(1, sizeof *key + 64);
	key->sca_assoc_id = SCTP_FUTURE_ASSOC;
	key->sca_keynumber = id;
	key->sca_keylength = (uint16_t)strlen(text);
	memcpy(key->sca_key, text, strlen(text));
	struct sctp_authkeyid active = {.scact_assoc_id = SCTP_FUTURE_ASSOC, .scact_keynumber = id};
	int result = set(SCTP_AUTH_KEY, key, sizeof *key + key->sca_keylength);
	free(key);
	return result ? result : set(SCTP_AUTH_ACTIVE_KEY, &active, sizeof active);
}

/* What is set before `open`. */
static int option(char **words, int count)
{
	const char *name = words[1];
	uint32_t value = count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 0;
	if (!strcmp(name, "auth"))
		return set_feature(SCTP_AUTH_SUPPORTED, value);
	if (!strcmp(name, "asconf"))
		return set_feature(SCTP_ASCONF_SUPPORTED, value);
	if (!strcmp(name, "pr"))
		return set_feature(SCTP_PR_SUPPORTED, value);
	if (!strcmp(name, "reconfig"))
		return set_feature(SCTP_RECONFIG_SUPPORTED, value);
	if (!strcmp(name, "key") && count > 3)
		return set_key((uint16_t)value, words[3]);
	if (!strcmp(name, "sign")) {
		struct sctp_authchunk chunk = {.sauth_chunk = (uint8_t)value};
		return set(SCTP_AUTH_CHUNK, &chunk, sizeof chunk);
	}
	if (!strcmp(name, "hmac")) {
		uint8_t room[sizeof(struct sctp_hmacalgo) + 4 * sizeof(uint16_t)];
		struct sctp_hmacalgo *algorithms = (void *)room;
		algorithms->shmac_number_of_idents = 0;
		for (int i = 2; i < count && i < 6; i++)
			algorithms->shmac_idents[algorithms->shmac_number_of_idents++] = (uint16_t)atoi(words[i]);
		return set(SCTP_HMAC_IDENT, algorithms, sizeof *algorithms + (size_t)(count - 2) * sizeof(uint16_t));
	}
	if (!strcmp(name, "rto")) {
		struct sctp_rtoinfo rto = {.srto_initial = value, .srto_max = 1000, .srto_min = value};
		struct sctp_paddrparams params = {.spp_pathmaxrxt = 1};
		int result = set(SCTP_RTOINFO, &rto, sizeof rto);
		return result ? result : set(SCTP_PEER_ADDR_PARAMS, &params, sizeof params);
	}
	if (!strcmp(name, "interleaving")) {
		int interleave = 2;
		int result = set(SCTP_FRAGMENT_INTERLEAVE, &interleave, sizeof interleave);
		return result ? result : set_feature(INTERLEAVING_SUPPORTED, value);
	}
	errno = EINVAL;
	return -1;
}

static int subscribe(void)
{
	static const uint16_t wanted[] = {SCTP_ASSOC_CHANGE,       SCTP_PEER_ADDR_CHANGE,    SCTP_REMOTE_ERROR,
					  SCTP_SHUTDOWN_EVENT,     SCTP_AUTHENTICATION_EVENT, SCTP_STREAM_RESET_EVENT,
					  SCTP_ASSOC_RESET_EVENT,  SCTP_STREAM_CHANGE_EVENT, SCTP_SEND_FAILED_EVENT};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = wanted[i], .se_on = 1};
		if (set(SCTP_EVENT, &event, sizeof event))
			return -1;
	}
	return 0;
}

/* The library starts here: it looks for the addresses of the host once. */
static int begin(int with_family)
{
	family = with_family;
	usrsctp_init(UDP_PORT, NULL, NULL);
	usrsctp_sysctl_set_sctp_blackhole(0);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	sock = usrsctp_socket(family, SOCK_SEQPACKET, IPPROTO_SCTP, received, NULL, 0, NULL);
	if (!sock)
		return -1;
	struct sctp_initmsg init = {.sinit_num_ostreams = STREAMS, .sinit_max_instreams = STREAMS};
	int on = 1;
	struct sctp_udpencaps encaps = {.sue_port = htons(UDP_PORT)};
	encaps.sue_address.ss_family = (sa_family_t)family;
	if (set(SCTP_INITMSG, &init, sizeof init) || set(SCTP_NODELAY, &on, sizeof on) ||
	    set(SCTP_RECVRCVINFO, &on, sizeof on) || set(SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps) ||
	    set_feature(SCTP_ENABLE_STREAM_RESET, SCTP_ENABLE_VALUE_MASK))
		return -1;
	return subscribe();
}

static int bindx(const char *text, int flag)
{
	struct sockaddr_storage address;
	read_address(text, own_port, &address);
	return usrsctp_bindx(sock, (struct sockaddr *)&address, 1, flag);
}

static int open_at(char **words, int count)
{
	struct sockaddr_storage address;
	own_port = (uint16_t)atoi(words[1]);
	read_address(words[2], own_port, &address);
	if (usrsctp_bind(sock, (struct sockaddr *)&address, length_of(&address)))
		return -1;
	for (int i = 3; i < count; i++)
		if (bindx(words[i], SCTP_BINDX_ADD_ADDR))
			return -1;
	return usrsctp_listen(sock, 8);
}

static int connect_to(char **words, int count)
{
	uint8_t all[MAX_ADDRS * sizeof(struct sockaddr_in6)];
	size_t used = 0;
	int n = 0;
	for (int i = 2; i < count && n < MAX_ADDRS; i++, n++) {
		struct sockaddr_storage address;
		read_address(words[i], (uint16_t)atoi(words[1]), &address);
		memcpy(all + used, &address, length_of(&address));
		used += length_of(&address);
	}
	sctp_assoc_t id;
	return usrsctp_connectx(sock, (struct sockaddr *)all, n, &id);
}

/* send STREAM o|u COUNT SIZE FIRST [ttl|rtx|buf VALUE] */
static int send_messages(char **words, int count)
{
	uint32_t stream = (uint32_t)atoi(words[1]), first = (uint32_t)atoi(words[5]);
	size_t size = (size_t)atol(words[4]);
	struct sctp_sendv_spa spa = {.sendv_flags = SCTP_SEND_SNDINFO_VALID};
	spa.sendv_sndinfo.snd_sid = (uint16_t)stream;
	spa.sendv_sndinfo.snd_flags = words[2][0] == 'u' ? SCTP_UNORDERED : 0;
	spa.sendv_sndinfo.snd_ppid = htonl(stream + 100 + (words[2][0] == 'u' ? 1000 : 0));
	spa.sendv_sndinfo.snd_assoc_id = assoc;
	if (count > 7) {
		spa.sendv_flags |= SCTP_SEND_PRINFO_VALID;
		spa.sendv_prinfo.pr_policy = !strcmp(words[6], "ttl")   ? SCTP_PR_SCTP_TTL
					     : !strcmp(words[6], "rtx") ? SCTP_PR_SCTP_RTX
									: SCTP_PR_SCTP_BUF;
		spa.sendv_prinfo.pr_value = (uint32_t)atoi(words[7]);
	}
	if (size > MAX_MESSAGE)
		return -1;
	uint8_t *bytes = malloc(size);
	int result = 0;
	for (uint32_t i = 0; i < (uint32_t)atoi(words[3]) && !result; i++) {
		fill(bytes, size, stream, first + i);
		/* Sockets with a callback do not block. */
		while ((result = usrsctp_sendv(sock, bytes, size, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0) < 0 ? -1 : 0) &&
		       (errno == EWOULDBLOCK || errno == EAGAIN))
			usleep(1000);
	}
	free(bytes);
	return result;
}

static int peer_primary(const char *text)
{
	struct sctp_setpeerprim set_primary = {.sspp_assoc_id = assoc};
	read_address(text, own_port, &set_primary.sspp_addr);
	return set(SCTP_SET_PEER_PRIMARY_ADDR, &set_primary, sizeof set_primary);
}

static int primary(char **words)
{
	struct sctp_setprim set_primary = {.ssp_assoc_id = assoc};
	read_address(words[2], (uint16_t)atoi(words[1]), &set_primary.ssp_addr);
	return set(SCTP_PRIMARY_ADDR, &set_primary, sizeof set_primary);
}

static int heartbeat(char **words)
{
	struct sctp_paddrparams params = {.spp_assoc_id = assoc, .spp_flags = SPP_HB_DEMAND};
	read_address(words[2], (uint16_t)atoi(words[1]), &params.spp_address);
	return set(SCTP_PEER_ADDR_PARAMS, &params, sizeof params);
}

/* reset out|in STREAM… */
static int reset(char **words, int count)
{
	uint8_t room[sizeof(struct sctp_reset_streams) + 32 * sizeof(uint16_t)] = {0};
	struct sctp_reset_streams *streams = (void *)room;
	streams->srs_assoc_id = assoc;
	streams->srs_flags = !strcmp(words[1], "in") ? SCTP_STREAM_RESET_INCOMING : SCTP_STREAM_RESET_OUTGOING;
	for (int i = 2; i < count && i < 34; i++)
		streams->srs_stream_list[streams->srs_number_streams++] = (uint16_t)atoi(words[i]);
	return set(SCTP_RESET_STREAMS, streams, sizeof *streams + streams->srs_number_streams * sizeof(uint16_t));
}

static int add_streams(char **words)
{
	struct sctp_add_streams add = {.sas_assoc_id = assoc,
				       .sas_outstrms = (uint16_t)atoi(words[1]),
				       .sas_instrms = (uint16_t)atoi(words[2])};
	return set(SCTP_ADD_STREAMS, &add, sizeof add);
}

static int end(uint16_t how)
{
	struct sctp_sndinfo info = {.snd_flags = how, .snd_assoc_id = assoc};
	return usrsctp_sendv(sock, "x", how == SCTP_ABORT ? 1 : 0, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) < 0
		       ? -1
		       : 0;
}

static int perform(char **words, int count)
{
	const char *what = words[0];
	if (!strcmp(what, "begin"))
		return begin(count > 1 && !strcmp(words[1], "6") ? AF_INET6 : AF_INET);
	if (!strcmp(what, "option") && count > 1)
		return option(words, count);
	if (!strcmp(what, "open") && count > 2)
		return open_at(words, count);
	if (!strcmp(what, "connect") && count > 2)
		return connect_to(words, count);
	if (!strcmp(what, "send") && count > 5)
		return send_messages(words, count);
	if (!strcmp(what, "add") && count > 1)
		return bindx(words[1], SCTP_BINDX_ADD_ADDR);
	if (!strcmp(what, "delete") && count > 1)
		return bindx(words[1], SCTP_BINDX_REM_ADDR);
	if (!strcmp(what, "peer-primary") && count > 1)
		return peer_primary(words[1]);
	if (!strcmp(what, "primary") && count > 2)
		return primary(words);
	if (!strcmp(what, "heartbeat") && count > 2)
		return heartbeat(words);
	if (!strcmp(what, "reset") && count > 2)
		return reset(words, count);
	if (!strcmp(what, "add-streams") && count > 2)
		return add_streams(words);
	if (!strcmp(what, "reset-association"))
		return set(SCTP_RESET_ASSOC, &assoc, sizeof assoc);
	if (!strcmp(what, "shutdown"))
		return end(SCTP_EOF);
	if (!strcmp(what, "abort"))
		return end(SCTP_ABORT);
	errno = EINVAL;
	return -1;
}

int main(void)
{
	char line[512];
	say("hello usrsctp " USRSCTP_VERSION);
	while (fgets(line, sizeof line, stdin)) {
		char *words[40];
		int count = 0;
		for (char *word = strtok(line, " \n"); word && count < 40; word = strtok(NULL, " \n"))
			words[count++] = word;
		if (!count)
			continue;
		if (!strcmp(words[0], "quit"))
			break;
		errno = 0;
		if (perform(words, count))
			say("error %s: %s", words[0], strerror(errno));
		else
			say("done %s", words[0]);
	}
	/* No usrsctp_finish: it waits for associations that nobody answers any more. */
	_exit(0);
}
