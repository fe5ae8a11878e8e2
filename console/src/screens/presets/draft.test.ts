import { expect, test } from 'bun:test'
import { configOf, draftOf, emptyDraft, type PresetVersion, requestOf } from './draft.ts'

const version = (fields: Partial<PresetVersion>): PresetVersion => ({
  id: 'v',
  preset_id: 'p',
  creator_id: 'u',
  version: 1,
  format: 'chat',
  system_prompt: null,
  config: {},
  created_at: '',
  updated_at: '',
  ...fields,
})

test.each([
  ['chat', { model: 'a/b', max_tokens: 10, temperature: 0.5, provider: { sort: 'price' } }],
  ['messages', { model: 'a/b', max_tokens: 10, thinking: { type: 'disabled' } }],
  ['responses', { model: 'a/b', max_output_tokens: 10, tools: [] }],
  ['chat', { models: ['a/b'], temperature: 0 }],
] as const)('a %s version that is not changed has the same configuration', (format, config) => {
  const draft = draftOf(version({ format, config }))
  expect(configOf(draft)).toEqual({ config })
})

test('each format has its own place for the system prompt', () => {
  const build = (format: 'chat' | 'messages' | 'responses') =>
    requestOf({ format, systemPrompt: 'Be brief.' }, {})
  expect(build('chat').messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ])
  expect(build('messages')).toMatchObject({ system: 'Be brief.', messages: [{ role: 'user' }] })
  expect(build('responses')).toEqual({ instructions: 'Be brief.', input: 'Hello' })
})

test.each([
  ['{', /^This is not JSON/],
  ['[]', /JSON object/],
  ['{"messages": []}', /"messages" is not stored/],
])('%s is refused', (others, message) => {
  expect(configOf({ ...emptyDraft, others })).toEqual({ problem: expect.stringMatching(message) })
})
