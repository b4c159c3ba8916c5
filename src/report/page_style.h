// SPDX-License-Identifier: Apache-2.0
//
// The style of every page. Colours are variables, so that dark mode changes one block.
#pragma once

#include <string_view>

namespace halftone::report {

inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#1c1d21;--soft:#5d6069;--rule:#e3e1da;--grid:#eceae4;
--warn:#b3261e;--warn-paper:#fdecea;--c0:#2456c7;--c1:#c2570c;--c2:#0f7b57;--c3:#9a2aa8;--c4:#b3261e;--c5:#0a7a91;
--c6:#7a6a00;--c7:#555b66}
@media(prefers-color-scheme:dark){:root{--paper:#141518;--card:#1c1e22;--ink:#e9e8e4;--soft:#a2a5ad;--rule:#33363d;
--grid:#2a2d33;--warn:#ff8a80;--warn-paper:#3a1f1d;--c0:#84a9ff;--c1:#ffa862;--c2:#5fd3a6;--c3:#e29bef;--c4:#ff8a80;
--c5:#6fd3e6;--c6:#dccb5c;--c7:#b4bac6}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
main{max-width:64rem;margin:0 auto;padding:0 1.25rem 3rem}
.mast{height:2.75rem;margin:0 -1.25rem 1.5rem;color:var(--c0);background:
radial-gradient(circle,currentColor 30%,transparent 33%) 0 0/.5rem .5rem;
-webkit-mask-image:linear-gradient(90deg,#000,transparent 85%);mask-image:linear-gradient(90deg,#000,transparent 85%);opacity:.55}
.kicker{margin:0;color:var(--soft);font-size:.875rem;letter-spacing:.02em}
h1{margin:.25rem 0 .5rem;font-size:clamp(1.5rem,4.6vw,2.25rem);line-height:1.18;letter-spacing:-.015em;text-wrap:balance}
h2{margin:2.5rem 0 .75rem;font-size:1.2rem;line-height:1.3}
p{margin:.5rem 0;max-width:46rem}
.lead{font-size:1.0625rem;color:var(--soft)}
.banner{margin:1rem 0;padding:.75rem 1rem;border-left:4px solid var(--warn);background:var(--warn-paper);border-radius:0 6px 6px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(7rem,1fr));gap:.75rem;margin:1.5rem 0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.75rem .9rem}
.tile b{display:block;font-size:1.3rem;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.8125rem}
figure{margin:0 0 1rem;background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:1rem 1.1rem .75rem}
figcaption{font-weight:600;line-height:1.35}
.note{color:var(--soft);font-size:.875rem}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;margin:.3rem 0 0;font-size:.8125rem;color:var(--soft)}
.legend span{display:inline-flex;align-items:center;gap:.4rem}
.legend svg{flex:none}
.plot{display:grid;grid-template-columns:3.1rem minmax(0,1fr);grid-template-rows:auto 15rem 1.6rem auto;font-size:.75rem;
color:var(--soft);padding-right:.8rem;font-variant-numeric:tabular-nums}
.ylabel{grid-area:1/1/2/3;margin:.6rem 0 .75rem}
.yaxis{grid-area:2/1;position:relative}
.yaxis span{position:absolute;right:.5rem;transform:translateY(50%);white-space:nowrap;line-height:1}
.area{grid-area:2/2;position:relative}
.area svg,.track svg{display:block;width:100%;height:100%;overflow:visible}
.xaxis{grid-area:3/2;position:relative}
.xaxis span{position:absolute;top:.4rem;transform:translateX(-50%);white-space:nowrap;line-height:1}
.xlabel{grid-area:4/2;text-align:center}
sup{font-size:.75em;line-height:0}
.grid{stroke:var(--grid);stroke-width:1}
.base{stroke:var(--soft);stroke-width:1;opacity:.6}
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
.faint{stroke-width:1;opacity:.38}
.dash{stroke-dasharray:6 4;stroke-linecap:butt}.dots{stroke-dasharray:2 3;stroke-linecap:butt}
.mark{stroke:var(--warn);stroke-width:1;opacity:.4}
.cross{stroke:var(--warn);stroke-width:1.75;stroke-linecap:round}
.dot{stroke:var(--card);stroke-width:1.5}
.rows{display:grid;grid-template-columns:minmax(8rem,auto) minmax(0,1fr);gap:0 .9rem;align-items:center;font-size:.875rem;
padding-right:.8rem;margin-top:.5rem}
.rows .name b{font-weight:600}.rows .name span{color:var(--soft);font-size:.8125rem;white-space:nowrap}
.track{position:relative;height:2.4rem}
.rows .xaxis{grid-area:auto;grid-column:2;height:1.6rem;font-size:.75rem;color:var(--soft)}
.rows .xlabel{grid-area:auto;grid-column:2;font-size:.75rem;color:var(--soft)}
.scroll{overflow-x:auto;margin:.75rem 0;background:var(--card);border:1px solid var(--rule);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{padding:.5rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
th{color:var(--soft);font-weight:600;font-size:.8125rem;vertical-align:bottom}
td:not(.n){min-width:7rem}
tbody tr:last-child td{border-bottom:0}
.n{text-align:right}td.n{white-space:nowrap}
dl{display:grid;grid-template-columns:minmax(7rem,13rem) minmax(0,1fr);gap:.35rem 1rem;margin:.75rem 0}
dt{color:var(--soft)}dd{margin:0}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
summary{cursor:pointer;color:var(--soft)}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.875rem}
@media(max-width:34rem){main{padding:0 .9rem 2rem}.mast{margin:0 -.9rem 1rem;height:2rem}figure{padding:.8rem .75rem .6rem}
.plot{grid-template-columns:2.6rem minmax(0,1fr);grid-template-rows:auto 13rem 1.6rem auto}
.rows{grid-template-columns:minmax(0,1fr);padding:0 1rem}.rows .name{display:flex;justify-content:space-between;gap:.5rem;margin-top:.4rem}
.track{height:1.6rem}.rows .xaxis,.rows .xlabel{grid-column:1}.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}
.tile:last-child:nth-child(odd){grid-column:1/-1}
dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin:0 0 .5rem}}
@media print{body{background:#fff}figure,.tile,.scroll{break-inside:avoid}}
)css";

}  // namespace halftone::report
