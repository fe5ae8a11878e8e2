import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { readComponents } from './components.mjs'
import { renderLicenses } from './licenses.mjs'
import { buildSbom } from './sbom.mjs'

const source = { version: '1.2.3', commit: 'a'.repeat(40), date: '2026-01-02T03:04:05Z' }
const { packages, relationships, creationInfo } = buildSbom(source)
const ids = packages.map(({ SPDXID }) => SPDXID)
const dependenciesOf = (id: string) =>
  relationships
    .filter(({ spdxElementId }) => spdxElementId === id)
    .map(({ relatedSpdxElement }) => relatedSpdxElement)
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  dependencies: Record<string, string>
}

describe('the bill of materials', () => {
  test('has every dependency of package.json, with its version', () => {
    for (const [name, version] of Object.entries(dependencies))
      expect(packages).toContainEqual(expect.objectContaining({ name, versionInfo: version }))
  })

  test('has what the dependencies depend on, the console and the runtimes, but nothing for development', () => {
    const names = packages.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['react', '@oven/bun-linux-x64', 'entities']))
    expect(names).not.toContain('typescript')
    expect(names).not.toContain('@biomejs/biome')
  })

  test('names each package once, and connects all to the program', () => {
    expect(new Set(ids).size).toBe(ids.length)
    const reached = new Set(['SPDXRef-DOCUMENT'])
    for (const id of reached) for (const target of dependenciesOf(id)) reached.add(target)
    expect([...reached].sort()).toEqual(['SPDXRef-DOCUMENT', ...ids].sort())
  })

  test('has licenses and checksums of all packages', () => {
    const components = packages.slice(2)
    expect(components.length).toBeGreaterThan(100)
    for (const { licenseDeclared, checksums } of components) {
      expect(licenseDeclared).toMatch(/^[\w.() -]+$/)
      expect(checksums?.[0]?.checksumValue).toMatch(/^[0-9a-f]{128}$/)
    }
  })

  test('is the same for the same source, and another for another commit', () => {
    expect(buildSbom(source)).toEqual(buildSbom(source))
    expect(creationInfo.created).toBe(source.date)
    const other = buildSbom({ ...source, commit: 'b'.repeat(40) })
    expect(other.documentNamespace).not.toBe(buildSbom(source).documentNamespace)
  })
})

test('a package within a package is found where Node finds it', () => {
  const { components } = readComponents()
  const nested = components.filter(({ folder }) => folder.split('node_modules').length > 2)
  expect(nested.length).toBeGreaterThan(0)
  const used = new Set(components.flatMap((component) => component.dependencies))
  for (const component of nested) expect(used.has(component)).toBe(true)
})

test('the licenses have the text of each package that has one', () => {
  const text = renderLicenses()
  expect(text).toMatch(/^zod 4[\d.]+\n=+\n\nLicense: MIT\n\n[\s\S]*?Permission is hereby granted/m)
})
