import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateDialects } from '../src/catalogue/vocabulary.ts'
import { startTestServer, type TestServer } from '../test/support/harness.ts'
import { pages } from './formats/pages.ts'
import { pagePath, renderFormatPage } from './formats.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer('sqlite')
})
afterAll(() => server.stop())

describe.each(generateDialects.map((name) => [name] as const))('format page of %s', (name) => {
  test('matches the results of the conformance suite (regenerate it with npm run formats)', async () => {
    expect(await Bun.file(pagePath(name)).text()).toBe(renderFormatPage(name))
  })

  test('R31 has examples that run', async () => {
    for (const { path, auth, body } of [pages[name].whole, pages[name].stream]) {
      const response = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...auth(server.own.inferenceKey) },
        body: JSON.stringify(body),
      })
      const text = await response.text()
      expect({ path, status: response.status, text }).toMatchObject({ status: 200 })
      expect(text).toContain('Hello')
    }
  })
})
