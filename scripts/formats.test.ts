import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { generateWireFormats } from '../src/formats/vocabulary.ts'
import { startTestServer, type TestServer } from '../test/support/harness.ts'
import { cohereExamples, coherePath, renderCoherePage } from './formats/cohere.ts'
import { type Example, pages } from './formats/pages.ts'
import { pagePath, renderFormatPage } from './formats.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer('sqlite')
})
afterAll(() => server.stop())

async function runExamples(examples: readonly Example[]): Promise<void> {
  for (const { path, auth, body } of examples) {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...auth(server.own.inferenceKey) },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    expect({ path, status: response.status, text }).toMatchObject({ status: 200 })
    expect(text).toContain('Hello')
  }
}

test('R31 the page of Cohere is up to date (npm run formats), and its examples run', async () => {
  expect(await Bun.file(coherePath).text()).toBe(renderCoherePage())
  await runExamples(cohereExamples)
})

describe.each(generateWireFormats.map((name) => [name] as const))('format page of %s', (name) => {
  test('matches the results of the conformance suite (regenerate it with npm run formats)', async () => {
    expect(await Bun.file(pagePath(name)).text()).toBe(renderFormatPage(name))
  })

  test('R31 has examples that run', async () => {
    await runExamples([pages[name].whole, pages[name].stream])
  })
})
