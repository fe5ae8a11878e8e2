import { expect, test } from 'bun:test'
import { playgroundOf } from './playground-settings.ts'

const record = { id: 'v', preset_id: 'p', creator_id: 'u', version: 1, created_at: '', updated_at: '' }

test('what the playground has settings for is filled in, and the rest is named', () => {
  const { prompt, left } = playgroundOf({
    ...record,
    format: 'chat',
    system_prompt: 'Be brief.',
    config: {
      model: 'a/b',
      max_tokens: 10,
      seed: 1,
      models: ['c/d'],
      reasoning: { effort: 'low' },
      response_format: { type: 'json_object' },
      provider: { sort: 'price', order: ['x'], zdr: true },
    },
  })
  expect(prompt.models).toEqual(['a/b'])
  expect(prompt.settings).toMatchObject({
    system: 'Be brief.',
    maxTokens: 10,
    effort: 'low',
    format: 'json_object',
    sort: 'price',
    zdr: true,
    denyTraining: false,
  })
  expect(left).toEqual(['seed', 'models', 'provider.order'])
})

test('tools of another format are not sent in the one of the playground', () => {
  const config = { model: 'a/b', max_output_tokens: 5, tools: [{ type: 'web_search' }] }
  const { prompt, left } = playgroundOf({ ...record, format: 'responses', system_prompt: null, config })
  expect([prompt.settings.maxTokens, prompt.settings.tools, left]).toEqual([5, undefined, ['tools']])
})
