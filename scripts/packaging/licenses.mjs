// The licenses of the packages in an executable: most of them ask to be distributed with the code.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readComponents } from './components.mjs'

const fileName = /^(licen[cs]e|copying|notice)/i

export function renderLicenses() {
  const components = [readComponents(), readComponents('console')].flatMap(({ components }) => components)
  const texts = new Map(
    components.map((component) => [`${component.name} ${component.version}`, describe(component)]),
  )
  return [...texts.keys()]
    .sort()
    .map((title) => `${title}\n${'='.repeat(title.length)}\n\n${texts.get(title)}\n`)
    .join('\n\n')
}

function describe({ folder, license }) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => fileName.test(name)) : []
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8').trim())
  return [`License: ${license}`, ...texts].join('\n\n')
}
