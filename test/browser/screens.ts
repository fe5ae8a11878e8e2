import { readFileSync } from 'node:fs'
import { Glob } from 'bun'

const folder = new URL('../../console/src/screens', import.meta.url).pathname

/** The paths of all screens, as their routes declare them: `/keys`, `/keys/$hash`. */
export function listScreens(): string[] {
  const files = [...new Glob('**/route.ts').scanSync(folder)].sort()
  return files.flatMap((file) => {
    const text = readFileSync(`${folder}/${file}`, 'utf8')
    return [...text.matchAll(/^ {2}path: '([^']+)'/gm)].map(([, path]) => path ?? '')
  })
}

/** Counts the routes of the console, to notice one whose path is not found in its file. */
export function countRoutes(): number {
  const list = /screenRoutes = \[([^\]]*)\]/.exec(readFileSync(`${folder}/all.ts`, 'utf8'))?.[1] ?? ''
  return list.split(',').filter((name) => name.trim() !== '').length
}

/** Placeholder of an id where there is no record. */
export const unknownId = 'unknown'

/** The screen with an example of each id, from the links of other screens. */
export function fillScreen(screen: string, links: readonly string[]): string {
  const pattern = new RegExp(`^${screen.replace(/\$\w+/g, '[^/?]+')}$`)
  return links.find((path) => pattern.test(path)) ?? screen.replace(/\$\w+/g, unknownId)
}
