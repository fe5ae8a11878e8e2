// What the build makes of packages: the font files, and the styles of the components that are used.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const packages = join(import.meta.dir, 'node_modules')
const fontPackage = join(packages, '@fontsource-variable/inter')
const stylesPackage = join(packages, '@mantine/core/styles')
const { version } = JSON.parse(readFileSync(join(fontPackage, 'package.json'), 'utf8')) as { version: string }

/** Styles that belong to no component. */
const baseStyles = ['baseline', 'default-css-variables', 'global']

export interface FontFile {
  name: string
  bytes: Uint8Array
}

/** The font: a file for each alphabet, of which a browser loads those that a page has letters of. */
export function readFont(): { css: string; files: FontFile[] } {
  const files: FontFile[] = []
  const text = readFileSync(join(fontPackage, 'wght.css'), 'utf8')
  const css = text.replace(/url\(\.\/files\/inter-([\w-]+)-wght-normal\.woff2\)/g, (_, subset: string) => {
    // The pages of the server name the file of the Latin alphabet: src/platform/http/page-style.ts.
    const name = `inter-${version}-${subset}.woff2`
    files.push({ name, bytes: readFileSync(join(fontPackage, 'files', `inter-${subset}-wght-normal.woff2`)) })
    return `url(./${name})`
  })
  return { css, files }
}

/** The styles of the components in this build, in the order in which the library has them. */
export function readUsedStyles({ outputs }: Bun.BuildMetafile): string {
  const modules = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs))
  const used = modules.flatMap((path) => /@mantine\/core\/.*\/(\w+)\.module\.mjs$/.exec(path)?.[1] ?? [])
  if (used.length === 0) throw new Error('No component of the library is found in the build')
  const all = readFileSync(join(packages, '@mantine/core/styles.css'), 'utf8')
  const parts = [...new Set([...baseStyles, ...used])].map((name) => {
    const css = readFileSync(join(stylesPackage, `${name}.css`), 'utf8').trim()
    const position = all.indexOf(css)
    if (position < 0) throw new Error(`The styles of ${name} are not among those of the library`)
    return { css, position }
  })
  return parts
    .sort((a, b) => a.position - b.position)
    .map(({ css }) => css)
    .join('\n')
}
