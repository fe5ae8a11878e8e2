import { chosenColors, pageColors, pageFontFace } from '../../platform/http/page-style.ts'

/** The design of the console, for long texts. */
export const docsStyle = `${pageFontFace}${pageColors}${chosenColors}*{box-sizing:border-box}
html{scroll-padding-top:72px}
body{margin:0;font:15px/1.6 'Inter Variable',system-ui,sans-serif;background:var(--page);color:var(--text);-webkit-font-smoothing:antialiased}
a{color:var(--link)}:focus-visible{outline:2px solid var(--ring);outline-offset:2px}
header{position:sticky;top:0;z-index:1;display:flex;align-items:center;gap:16px;min-height:52px;padding:8px 16px;background:var(--card);border-bottom:1px solid var(--line)}
header a{color:inherit;text-decoration:none;font-size:14px}header a:hover{text-decoration:underline}
.brand{display:flex;align-items:center;gap:8px;font-weight:600}.brand svg{width:24px;height:24px}
header form{flex:1;max-width:420px;margin-left:auto}
input{width:100%;height:36px;padding:0 12px;font:inherit;font-size:14px;color:inherit;background:var(--card);border:1px solid var(--control);border-radius:8px}
.columns{display:grid;grid-template-columns:264px minmax(0,1fr);align-items:start;max-width:1160px;margin:0 auto}
nav{grid-column:1;grid-row:1;position:sticky;top:52px;max-height:calc(100vh - 52px);overflow:auto;padding:20px 16px;font-size:14px;line-height:1.4}
nav summary{padding:6px 8px;font-weight:600;cursor:pointer}
nav ul{list-style:none;margin:0 0 8px;padding:0}nav ul ul{margin:2px 0 6px 12px;padding-left:8px;border-left:1px solid var(--line)}
nav a{display:block;padding:5px 8px;color:var(--quiet);text-decoration:none;border-radius:6px;overflow-wrap:anywhere}nav a:hover{background:var(--soft)}
nav a[aria-current]{color:var(--link);background:var(--soft);font-weight:500}
main{grid-column:2;grid-row:1;min-width:0;max-width:840px;padding:28px 24px 64px;overflow-wrap:anywhere}
h1,h2,h3,h4{line-height:1.3;font-weight:600}h1{margin:0 0 16px;font-size:26px;letter-spacing:-.011em}
h2{margin:36px 0 12px;font-size:20px}h3{margin:28px 0 8px;font-size:16px}h4{margin:24px 0 8px;font-size:15px}
.anchor{color:var(--quiet);text-decoration:none;font-weight:400;opacity:0}:is(h2,h3,h4):hover .anchor,.anchor:focus-visible{opacity:1}
p,ul,ol{margin:0 0 14px}li{margin-bottom:4px}
code,pre{font:13px/1.55 ui-monospace,monospace}:not(pre)>code{padding:1px 4px;background:var(--soft);border-radius:4px}
.code{position:relative;margin-bottom:16px}pre{overflow:auto;margin:0;padding:12px 14px;background:var(--card);border:1px solid var(--line);border-radius:8px}
.code button{position:absolute;top:6px;right:6px;padding:3px 9px;font:500 12px/1.5 inherit;font-family:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:6px;cursor:pointer}.code button:hover{background:var(--soft)}
.scroll{overflow-x:auto;margin-bottom:16px}table{border-collapse:collapse;font-size:14px;overflow-wrap:normal}
th,td{padding:7px 14px 7px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}th{font-weight:500;color:var(--quiet)}thead:not(:has(th)){display:none}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:8px}
blockquote{margin:0 0 14px;padding:2px 16px;border-left:3px solid var(--line)}hr{border:0;border-top:1px solid var(--line)}
.results{list-style:none;padding:0}.results li{padding:12px 0;border-bottom:1px solid var(--line)}.results a{font-weight:500}.results p,.quiet{margin:2px 0 0;color:var(--quiet);font-size:14px}
.to-menu{display:none}
@media (max-width:820px){.to-menu{display:block}.columns{display:block}main{padding:20px 16px}nav{position:static;max-height:none;border-top:1px solid var(--line)}nav a{padding:9px 8px}header{gap:12px}.brand span,.to-reference{display:none}}
@media print{header,nav,.code button{display:none}}`
