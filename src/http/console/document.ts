import { escapeHtml } from '../../platform/http/html.ts'
import { pageColors } from '../../platform/http/page-style.ts'
import { faviconUrl, logoSvg } from '../pages/logo.ts'
import type { ConsoleManifest } from './console-files.ts'

/** The sizes are those of the frame: console/src/app/shell.tsx. It is shown until the script has something to show. */
const shellStyle = `${pageColors}
body{margin:0}
body:has(#root>:not(style)) #shell{display:none}
#shell{position:fixed;inset:0;display:grid;grid-template:52px 1fr/208px 1fr;background:var(--page);color:var(--text);font:600 14px/1.5 'Inter Variable',system-ui,sans-serif}
#shell header{grid-column:1/3;display:flex;align-items:center;gap:8px;padding:0 16px;background:var(--card);border-bottom:1px solid var(--line)}
#shell header svg{width:24px;height:24px}
#shell header i:first-of-type{margin-left:auto}
#shell nav{display:flex;flex-direction:column;gap:12px;padding:20px 16px;background:var(--card);border-right:1px solid var(--line);overflow:hidden}
#shell main{padding:20px 16px;overflow:hidden}
#shell i{display:block;flex:none;height:12px;border-radius:6px;background:var(--line);opacity:.75}
#shell nav i:nth-child(3n+2){width:120px}#shell nav i:nth-child(3n){width:96px}#shell nav i{width:136px}
#shell nav i:nth-child(5n+1){width:48px;height:8px;margin-top:6px}
#shell main i{margin-bottom:16px;max-width:100%}
#shell .title{width:180px;height:24px;border-radius:8px;margin-bottom:24px}
#shell .card{height:132px;border-radius:8px;background:var(--card);box-shadow:inset 0 0 0 1px var(--line);opacity:1}
#shell .wide{width:96px;height:30px;border-radius:6px}#shell .round{width:28px;height:28px;border-radius:6px}
#shell p{font-weight:400;color:var(--quiet)}
#shell .late{visibility:hidden;animation:late 0s 12s forwards}@keyframes late{to{visibility:visible}}
@media (max-width:47.99em){#shell{grid-template-columns:0 1fr}#shell nav{display:none}#shell main{grid-column:1/3}}`

const shell = `<div id="shell" role="status" aria-label="The console is loading"><header>${logoSvg}Headgate<i class="wide"></i><i class="round"></i><i class="round"></i></header><nav>${'<i></i>'.repeat(20)}</nav><main><i class="title"></i><i class="card"></i><i class="card"></i><noscript><p>The console needs JavaScript. The API is described in <a href="openapi.json">openapi.json</a>.</p></noscript><p class="late">This takes longer than usual. If it stays, reload the page.</p></main></div>`

/**
 * The page of every screen. The styles come after the frame, which is painted while they and the script arrive, and
 * before the root, whose own styles override theirs.
 */
export function renderDocument(
  { script, styles, font, preload }: ConsoleManifest,
  basePath: string,
  isFirstScreen: boolean,
): string {
  const links = styles.map((name) => `<link rel="stylesheet" href="assets/${escapeHtml(name)}">`).join('')
  const modules = (isFirstScreen ? preload : [])
    .map((name) => `<link rel="modulepreload" href="assets/${escapeHtml(name)}">`)
    .join('')
  // Text is shown in another font until it is there: on a slow line, the script is more urgent.
  const fontLink = font
    ? `<link rel="preload" href="assets/${escapeHtml(font)}" as="font" type="font/woff2" crossorigin fetchpriority="low">`
    : ''
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="${escapeHtml(basePath)}"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>Headgate</title><link rel="icon" type="image/svg+xml" href="${escapeHtml(faviconUrl)}"><style>${shellStyle}</style><script type="module" src="assets/${escapeHtml(script)}"></script>${modules}${fontLink}</head><body>${shell}${links}<div id="root"></div></body></html>`
}
