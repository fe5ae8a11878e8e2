import { expect, test } from 'bun:test'
import { startTestServer } from '../../test/support/harness.ts'
import { findSettingsPath } from '../config.ts'
import { reloadSettings } from './reload.ts'

const problem =
  'moderation.model: "sandbox/painter" is not a model with an endpoint of the wire format moderations'
const settings = (model: string) => `moderation: { model: ${model} }`

test('moderation.model must be a model for moderations', async () => {
  await expect(startTestServer('sqlite', { settings: settings('sandbox/painter') })).rejects.toThrow(problem)
  const server = await startTestServer('sqlite', { settings: settings('sandbox/moderator') })
  const { gateway } = server
  await Bun.write(findSettingsPath(gateway.config.environment) ?? '', settings('sandbox/painter'))
  expect(() => reloadSettings(gateway)).toThrow(problem)
  expect(gateway.settings.moderation.model).toBe('sandbox/moderator')
  await server.stop()
})

test('S1 smtp requires public_url: the Host of a request must not decide where the links in mails lead', async () => {
  const text = 'smtp: { host: 127.0.0.1, tls: none, from: gate@example.com }'
  await expect(startTestServer('sqlite', { settings: text })).rejects.toThrow(
    'public_url: is required with smtp',
  )
})
