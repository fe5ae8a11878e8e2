/** The font of the console, which is built with this version of it: console/build-assets.ts. */
export const pageFont = { version: '5.3.0', path: 'assets/inter-5.3.0-latin.woff2' }

const lightColors =
  '--page:#f7f8fa;--card:#fff;--text:#1b2230;--quiet:#4b5567;--line:#e4e7ec;--control:#858fa1;--link:#2145b8;--ring:#3f70ef;--soft:#f0f2f5;--problem:#871f23;--problem-soft:#fef0f0'
const darkColors =
  '--page:#10141a;--card:#161b23;--text:#dde1e8;--quiet:#a8b0be;--line:#2a313d;--control:#6b7588;--link:#93b6fb;--ring:#6391f6;--soft:#1f252f;--problem:#f59a9a;--problem-soft:#3a2529'

/** Those of console/src/theme/tokens.ts. */
export const pageColors = `:root{color-scheme:light dark;${lightColors}}
@media (prefers-color-scheme:dark){:root{${darkColors}}}
`

/** For a page whose script names the scheme, after the common colors. */
export const chosenColors = `:root[data-scheme=light]{color-scheme:light;${lightColors}}
:root[data-scheme=dark]{color-scheme:dark;${darkColors}}
`

export const pageFontFace = `@font-face{font-family:'Inter Variable';font-display:swap;font-weight:100 900;src:url(${pageFont.path}) format('woff2-variations')}
`

/** The design of the console, for pages without a script. */
export const pageStyle = `
${pageFontFace}${pageColors}*{box-sizing:border-box}
body{font:15px/1.5 'Inter Variable',system-ui,sans-serif;margin:0;min-height:100vh;padding:32px 16px;background:var(--page);color:var(--text);display:flex;flex-direction:column;align-items:center;justify-content:safe center;-webkit-font-smoothing:antialiased}
.brand{display:flex;align-items:center;gap:10px;margin-bottom:24px;font-size:18px;font-weight:600}
main{width:100%;max-width:420px;padding:32px;background:var(--card);border:1px solid var(--line);border-radius:12px;box-shadow:0 1px 3px rgb(16 24 40/8%);overflow-wrap:anywhere}
h1{margin:0 0 20px;font-size:22px;line-height:1.3;font-weight:600;letter-spacing:-.011em}
h2{margin:24px 0 8px;font-size:16px;font-weight:600}
p{margin:0 0 16px}main>:last-child,main>:has(+[hidden]:last-child),form>:last-child,details>:last-child{margin-bottom:0}
a{color:var(--link)}
label{display:inline-block;font-size:14px;font-weight:500;margin-bottom:4px}
code,pre{font:13px/1.5 ui-monospace,monospace}pre{overflow:auto;padding:12px;margin:0 0 16px;background:var(--soft);border-radius:8px}
button,input,select{font:inherit;max-width:100%;min-height:40px;padding:8px 14px;border:1px solid var(--control);border-radius:8px;background:var(--card);color:inherit}
input:not([type=hidden],[type=checkbox],[type=radio]),select{width:100%}
button{font-weight:500;cursor:pointer;border-color:var(--line);box-shadow:0 1px 2px rgb(16 24 40/5%)}button:hover{background:var(--soft)}
form[action^="signin"] button,form[action="invitation"] button,#passkey{width:100%}
button.primary{background:#2a56db;color:#fff;border-color:#2a56db}button.primary:hover{background:#2145b8}
:focus-visible{outline:2px solid var(--ring);outline-offset:2px}
form{margin-bottom:12px}
table{border-collapse:collapse;width:100%;margin-bottom:16px;font-variant-numeric:tabular-nums}td,th{text-align:left;vertical-align:top;padding:8px 12px 8px 0;border-bottom:1px solid var(--line)}th{font-weight:500;color:var(--quiet)}
details{margin-top:16px;padding-top:12px;border-top:1px solid var(--line)}summary{cursor:pointer;color:var(--quiet);font-size:14px;margin-bottom:12px}
[role=alert]{padding:10px 14px;border-radius:8px;background:var(--problem-soft);color:var(--problem)}[role=alert] strong{font-weight:500}
.quiet{color:var(--quiet);font-size:14px}
@media (max-width:480px){body{justify-content:flex-start;padding:24px 12px}main{padding:24px 20px}}`
