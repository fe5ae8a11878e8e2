import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { connectIdentityProvider } from '../../../../test/support/scim.ts'
import entra from './fixtures/entra.json'
import okta from './fixtures/okta.json'

interface Step {
  name: string
  method: string
  path: string
  body?: unknown
  status: number
  /** Fields the response must contain. */
  expect?: Record<string, unknown>
  absent?: string[]
  /** The name by which later steps refer to the id of the response. */
  save?: string
}

const conversations: [string, Step[]][] = [
  ['Okta', okta.steps],
  ['Entra ID', entra.steps],
]

describeOnEachDatabase('R38 conversations with identity providers', (server) => {
  test.each(conversations)('R38 %s', async (_, steps) => {
    const ids = new Map<string, string>()
    const filled = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value).replace(/\{\{(\w+)\}\}/g, (_whole, word) => ids.get(word) ?? '?'))
    const provider = await connectIdentityProvider(server())
    for (const { name, method, path, body, status, absent = [], save, ...step } of steps) {
      const response = await provider.send(method, filled(path), body && filled(body))
      expect({ name, status: response.status, body: response.body }).toMatchObject({
        name,
        status,
        ...(step.expect && { body: filled(step.expect) }),
      })
      for (const attribute of absent) expect(response.body).not.toHaveProperty(attribute)
      if (save) ids.set(save, response.body.id)
    }
  })
})
