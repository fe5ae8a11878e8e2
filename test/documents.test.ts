import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import { renderGuaranteesPage } from '../scripts/guarantees.ts'
import { renderPermissionsPage } from '../scripts/permissions.ts'
import { declaredProvider } from '../src/catalog/declared.ts'
import { declaredEndpoint, declaredModel } from '../src/catalog/declared-model.ts'
import { readConfig } from '../src/config.ts'

/** Anchors as GitHub makes them: lower case, without punctuation, hyphens for spaces. */
function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.trim().toLowerCase())
  return new Set(headings.map((heading) => heading.replace(/[^\w\- ]/g, '').replaceAll(' ', '-')))
}

/** One glob each: Bun finds nothing for alternatives that contain a slash. */
function listDocuments(): string[] {
  const patterns = ['*.md', '.github/*.md', 'docs/**/*.md', 'test/*.md']
  return patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ dot: true })])
}

/** The targets of the relative links of a page. */
async function linksOf(file: string): Promise<string[]> {
  const links = (await Bun.file(file).text()).matchAll(/\]\((?!https?:|#)([^)#]+)/g)
  return [...links].map(([, target = '']) => target)
}

describe('the documents', () => {
  test('docs/permissions.md is up to date (npm run permissions writes it)', async () => {
    expect(await Bun.file('docs/permissions.md').text()).toBe(renderPermissionsPage())
  })

  test('docs/guarantees.md is up to date (npm run guarantees writes it)', async () => {
    expect(await Bun.file('docs/guarantees.md').text()).toBe(await renderGuaranteesPage())
  })

  test('every link to a file leads somewhere', async () => {
    const files = listDocuments()
    expect(files.length).toBeGreaterThan(70)
    const links = await Promise.all(
      files.map(async (file) => (await linksOf(file)).map((target) => ({ file, target }))),
    )
    expect(links.flat().filter(({ file, target }) => !existsSync(join(dirname(file), target)))).toEqual([])
  })

  test('docs/README.md lists every page once; some folders have an index of their own', async () => {
    const indexes = ['providers', 'destinations', 'coming-from', 'migrate']
    const patterns = ['*.md', 'formats/*.md', 'internals/*.md', ...indexes.map((name) => `${name}/README.md`)]
    const pages = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync('docs')])
    expect((await linksOf('docs/README.md')).filter((target) => !target.startsWith('..')).sort()).toEqual(
      pages.filter((page) => page !== 'README.md').sort(),
    )
    for (const name of indexes) {
      const listed = [...new Glob('*.md').scanSync(`docs/${name}`)].filter((page) => page !== 'README.md')
      expect(await linksOf(`docs/${name}/README.md`)).toEqual(expect.arrayContaining(listed))
    }
  })

  test('every path that docs/development.md names exists', async () => {
    const text = await Bun.file('docs/development.md').text()
    const paths = [...text.matchAll(/`((?:src|test|scripts|bench|docs)(?:\/[\w./-]+)?)`/g)].map(
      ([, path = '']) => path,
    )
    const examples = /NNN-/
    expect(paths.length).toBeGreaterThan(50)
    expect(paths.filter((path) => !examples.test(path) && !existsSync(path))).toEqual([])
  })

  test('every environment variable is documented', async () => {
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
    const texts = new Map(
      await Promise.all(listDocuments().map(async (file) => [file, await Bun.file(file).text()] as const)),
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

  test('every path in test/README.md exists, and it names every test in this folder', async () => {
    const text = await Bun.file('test/README.md').text()
    const named = new Set([...text.matchAll(/`((?:src|test)\/[^`]*)`/g)].map(([, path = '']) => path))
    expect([...named].filter((path) => !existsSync(path))).toEqual([])
    const files = [...new Glob('test/**/*.test.ts').scanSync('.')].filter(
      (file) => !file.includes('node_modules'),
    )
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((file) => !named.has(file) && !named.has(dirname(file)))).toEqual([])
  })

  test('S15 no dependency in the lockfile has an install script', async () => {
    const lock = await Bun.file('package-lock.json').json()
    const scripted = Object.entries(lock.packages as Record<string, { hasInstallScript?: boolean }>)
      .filter(([, entry]) => entry.hasInstallScript)
      .map(([name]) => name)
    expect(scripted).toEqual([])
  })
})
