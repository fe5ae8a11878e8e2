import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import { guaranteesPage } from '../scripts/guarantees.ts'
import { declaredProvider } from '../src/catalog/declared.ts'
import { declaredEndpoint, declaredModel } from '../src/catalog/declared-model.ts'
import { readConfig } from '../src/config.ts'

/** Anchors as GitHub makes them: lower case, without punctuation, hyphens for spaces. */
function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.trim().toLowerCase())
  return new Set(headings.map((heading) => heading.replace(/[^\w\- ]/g, '').replaceAll(' ', '-')))
}

describe('the documents', () => {
  test('docs/guarantees.md is what the tests prove (npm run guarantees writes it)', async () => {
    expect(await Bun.file('docs/guarantees.md').text()).toBe(await guaranteesPage())
  })

  test('every link to a file leads somewhere', async () => {
    for (const file of new Glob('{*.md,docs/**/*.md}').scanSync('.')) {
      for (const [, target = ''] of (await Bun.file(file).text()).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect({ file, target, exists: existsSync(join(dirname(file), target)) }).toEqual({
          file,
          target,
          exists: true,
        })
      }
    }
  })

  test('every environment variable that is read is documented', async () => {
    const read = new Set<string>()
    const spy = new Proxy({}, { get: (_, name) => void read.add(String(name)) })
    readConfig(spy)
    const text = await Bun.file('docs/configuration.md').text()
    expect([...read].filter((name) => !text.includes(`\`${name}\``))).toEqual([])
    expect(read.size).toBeGreaterThan(8)
  })

  test('every field of a provider, a model and an endpoint in headgate.yaml is documented', async () => {
    const text = await Bun.file('docs/configuration.md').text()
    const fields = [declaredProvider, declaredModel, declaredEndpoint].flatMap(({ shape }) =>
      Object.keys(shape),
    )
    expect(fields.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`${name}: `))).toEqual([])
  })

  test('every link to a heading leads to one', async () => {
    const files = ['*.md', 'docs/**/*.md'].flatMap((pattern) => [...new Glob(pattern).scanSync('.')])
    const texts = new Map(
      await Promise.all(files.map(async (file) => [file, await Bun.file(file).text()] as const)),
    )
    const links = [...texts].flatMap(([file, text]) =>
      [...text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)].map(([, path = '', anchor = '']) => ({
        file,
        target: path === '' ? file : join(dirname(file), path),
        anchor,
      })),
    )
    expect(links.length).toBeGreaterThan(20)
    expect(links.filter(({ target, anchor }) => !anchorsOf(texts.get(target) ?? '').has(anchor))).toEqual([])
  })

  test('S15 no dependency in the lockfile has an install script', async () => {
    const lock = await Bun.file('package-lock.json').json()
    const scripted = Object.entries(lock.packages as Record<string, { hasInstallScript?: boolean }>)
      .filter(([, entry]) => entry.hasInstallScript)
      .map(([name]) => name)
    expect(scripted).toEqual([])
  })
})
