import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildRule, buildSettings, newRuleDraft } from './rule-draft.ts'
import { ruleKinds } from './rule-kinds.ts'

test('the form has the thresholds of the API', async () => {
  const { components } = await Bun.file(join(import.meta.dir, '../../../../openapi.json')).json()
  const texts = Object.entries(ruleKinds).map(
    ([kind, { unit, min, max, fallback }]) => `${kind}: ${unit}, ${min} to ${max}, default ${fallback}`,
  )
  expect(components.schemas.NotificationRule.properties.threshold.description).toBe(texts.join('; '))
})

test('a rule about the organization names no workspace', () => {
  const draft = { ...newRuleDraft({ kind: 'low_balance', workspaceId: null }), workspaceId: 'x' }
  expect(buildRule(draft)).not.toHaveProperty('workspace_id')
  expect(
    buildRule({ ...newRuleDraft({ kind: 'budget', workspaceId: null }), workspaceId: 'x' }),
  ).toMatchObject({ workspace_id: 'x' })
})

test('a secret that is not entered again stays, and an empty address removes the webhook', () => {
  const draft = {
    ...newRuleDraft({ kind: 'budget', workspaceId: null }),
    webhookUrl: ' https://hooks.example.com/in ',
  }
  expect(buildSettings(draft).channels?.webhook).toEqual({ url: 'https://hooks.example.com/in' })
  expect(buildSettings({ ...draft, webhookSecret: null }).channels?.webhook).toEqual({
    url: 'https://hooks.example.com/in',
    secret: null,
  })
  expect(buildSettings({ ...draft, webhookUrl: '' }).channels?.webhook).toBeNull()
})
