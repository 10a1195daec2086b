//! The page's stylesheet. The colours of the charts are [`STYLESHEET`](crate::figure::STYLESHEET)'s.

pub(super) const PAGE: &str = "
:root{--soft:#f5f6f8;--line:#d9dde3;--quiet:#59616c;--link:#0a58ca;--good:#14693f;--good-bg:#e2f4ea;--bad:#9a2a1c;--bad-bg:#fbe7e3;--open:#5b4a00;--open-bg:#f8efcf}
@media(prefers-color-scheme:dark){:root{--soft:#1d2126;--line:#343a42;--quiet:#a2aab5;--link:#86b7fe;--good:#7fdcaa;--good-bg:#12362a;--bad:#ffab9c;--bad-bg:#47201b;--open:#f0d98a;--open-bg:#3d3412}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Liberation Sans\",sans-serif;overflow-wrap:break-word}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
h1{font-size:2rem;line-height:1.2;margin:0 0 8px;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:1.4rem;margin:56px 0 12px;padding-top:12px;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:40px 0 4px}
h4{font-size:.85rem;font-weight:600;color:var(--quiet);margin:20px 0 4px;text-transform:none}
p{max-width:72ch;margin:8px 0}
a{color:var(--link)}
.cite,.quiet{color:var(--quiet)}
.cite{font-size:.95rem}
.lead{font-size:1.1rem;line-height:1.6}
nav{margin:20px 0 0;display:flex;flex-wrap:wrap;gap:6px 18px;font-size:.95rem}
code,pre{font:13.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,\"Liberation Mono\",monospace}
code{background:var(--soft);border-radius:4px;padding:1px 5px}
pre{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:12px 14px;white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0 16px}
pre code{background:none;padding:0}
.tally{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0;padding:0;list-style:none}
.tally li{border:1px solid var(--line);border-radius:10px;padding:12px 18px;background:var(--soft)}
.tally b{display:block;font-size:1.5rem;line-height:1.2}
.note{border-left:4px solid var(--bad);background:var(--bad-bg);padding:10px 16px;border-radius:0 8px 8px 0;max-width:80ch}
table{border-collapse:collapse;width:100%;margin:12px 0;font-size:.95rem}
th,td{text-align:left;vertical-align:top;padding:10px 14px 10px 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--quiet);font-size:.85rem;border-bottom-width:2px}
tbody th{border-bottom-width:1px}
td:last-child,th:last-child{padding-right:0}
.ledger tr:not(.finding) td:first-child{white-space:nowrap;width:7rem}
.ledger .id{font-weight:700;font-size:1.05rem}
.ledger .says{width:24%}
.verdict{display:inline-block;border-radius:999px;padding:2px 11px;font-size:.85rem;font-weight:600;white-space:nowrap}
.reproduced{color:var(--good);background:var(--good-bg)}
.contradicted,.no-effect{color:var(--bad);background:var(--bad-bg)}
.unresolved,.out-of-reach{color:var(--open);background:var(--open-bg)}
.checks{list-style:none;margin:8px 0 0;padding:0;font-size:.87rem;line-height:1.45}
.checks li{padding:4px 0 4px 22px;position:relative}
.checks .mark{position:absolute;left:0;font-weight:700}
.checks .want{display:block;color:var(--quiet)}
.checks .found{font-variant-numeric:tabular-nums}
.checks .mark{background:none}
.effect{margin:6px 0 0;font-size:.9rem;font-variant-numeric:tabular-nums}
.finding td{background:var(--soft);font-size:.9rem;padding:10px 14px}
.cards .finding td:last-child{padding:10px 14px}
.scroll{overflow-x:auto;max-width:100%}
.grid{width:auto;font-variant-numeric:tabular-nums;font-size:.9rem}
.grid caption{text-align:left;color:var(--quiet);font-size:.9rem;padding-bottom:4px}
.grid th,.grid td{padding:5px 16px 5px 0;text-align:right;white-space:nowrap}
.grid th:first-child{text-align:left}
.grid td .quiet{display:block;font-size:.8rem}
.grid .good{color:var(--good)}.grid .bad{color:var(--bad)}
.panels{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:12px 20px;margin:4px 0 8px}
.panels.two{grid-template-columns:repeat(2,minmax(0,1fr));max-width:960px}
figure{margin:0}
figure svg{display:block;width:100%;height:auto}
figure svg text{font-family:inherit}
figcaption{font-size:.87rem;line-height:1.4;color:var(--quiet);padding:2px 4px}
figcaption a{white-space:nowrap}
svg.choose{cursor:pointer}
.ring{fill:none;stroke:var(--ink);stroke-width:2}
.points{font-size:.87rem;padding:0 4px}
.points summary{color:var(--link);cursor:pointer;width:max-content}
.points select{font:inherit;max-width:calc(100% - 8em)}
.points button{font:inherit;margin-left:8px}
.points pre{margin:6px 0;max-height:16em;overflow-y:auto}
dl{max-width:80ch}
dt{font-weight:600;margin-top:8px}
dd{margin:0 0 6px}
footer{margin-top:64px;padding-top:16px;padding-bottom:40px;border-top:1px solid var(--line);color:var(--quiet);font-size:.9rem}
@media(max-width:960px){.panels,.panels.two{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media(max-width:720px){
main,header,footer{padding-left:16px;padding-right:16px}
header{padding-top:24px}
h1{font-size:1.5rem}
.panels,.panels.two{grid-template-columns:minmax(0,1fr);gap:16px}
.grid thead th,.grid th:first-child{white-space:normal}
.grid th:first-child{min-width:7.5em}
.grid th,.grid td{padding-right:10px}
.cards thead{display:none}
.cards,.cards tbody,.cards tr,.cards td{display:block;width:100%}
.cards .says,.cards .set{width:100%}
.cards tr{padding:14px 0;border-bottom:1px solid var(--line)}
.cards td{border:0;padding:3px 0}
.cards td[data-name]::before{content:attr(data-name);display:block;font-size:.8rem;font-weight:600;color:var(--quiet);margin-top:6px}
}
@media print{nav,.points:not([open]),.points select,.points button{display:none}.points pre{max-height:none}h2{break-after:avoid}figure,tr{break-inside:avoid}}
";
