import { expect, test } from 'bun:test'
import { buildRequestBodies } from './bodybuilder.ts'

const models = [
  'anthropic/claude-sonnet-4',
  'anthropic/claude-sonnet-4.5',
  'anthropic/claude-opus-4.5',
  'openai/gpt-5',
  'openai/gpt-5-mini',
  'openai/gpt-5.1',
  'google/gemini-2.5-flash',
  'google/gemini-3-pro-preview',
  'deepseek/deepseek-v3.2',
  'cohere/command-r',
  'sandbox/echo',
  'sandbox/echo:free',
  'sandbox/reasoner',
].map((id, index) => ({ id, author: id.slice(0, id.indexOf('/')), listed_at: index }))

function build(prompt: string, system?: string) {
  const text = (value: string) => [{ kind: 'text' as const, text: value }]
  return buildRequestBodies(
    {
      messages: [
        ...(system ? [{ role: 'system' as const, parts: text(system) }] : []),
        { role: 'user' as const, parts: text(prompt) },
      ],
    },
    models,
  ).requests
}

const modelsOf = (prompt: string) => build(prompt).map(({ model }) => model)

test('the models are those the prompt says to use, and the task is the rest', () => {
  expect(build('Count to 10 using Claude Sonnet and GPT-5')).toEqual([
    { model: 'anthropic/claude-sonnet-4.5', messages: [{ role: 'user', content: 'Count to 10' }] },
    { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'Count to 10' }] },
  ])
  expect(build('With gemini, claude opus and deepseek, explain gravity.')).toEqual(
    ['google/gemini-3-pro-preview', 'anthropic/claude-opus-4.5', 'deepseek/deepseek-v3.2'].map((model) => ({
      model,
      messages: [{ role: 'user', content: 'explain gravity.' }],
    })),
  )
})

test('a slug names its model, a family its newest version', () => {
  expect(modelsOf('Say hello using sandbox/echo and sandbox/reasoner')).toEqual([
    'sandbox/echo',
    'sandbox/reasoner',
  ])
  expect(modelsOf('Say hello via anthropic/claude-sonnet-4')).toEqual(['anthropic/claude-sonnet-4'])
  expect(modelsOf('Say hello with GPT-5 mini')).toEqual(['openai/gpt-5-mini'])
  expect(modelsOf('Say hello with Claude Sonnet')).toEqual(['anthropic/claude-sonnet-4.5'])
})

test('a word that is not meant as a model is left alone', () => {
  expect(build('Which command prints an echo?')).toEqual([
    { model: 'service/auto', messages: [{ role: 'user', content: 'Which command prints an echo?' }] },
  ])
})

test('the system prompt is kept, and nothing but the prompt is needed', () => {
  expect(build('Hi using gemini', 'Be brief.')[0]?.messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ])
  expect(build('')).toEqual([{ model: 'service/auto', messages: [{ role: 'user', content: '' }] }])
})

test('letters whose lower case is longer do not move the task', () => {
  expect(build('İİİ: count to 10 using GPT-5. Then stop.')[0]?.messages).toEqual([
    { role: 'user', content: 'İİİ: count to 10. Then stop.' },
  ])
})

test('a long run of separators takes no time', () => {
  expect(modelsOf(`Say hello using GPT-5${','.repeat(19_000)}x GPT-5 mini`)).toEqual(['openai/gpt-5'])
})

test('a prompt that names many models is a bounded number of requests', () => {
  const many = Array.from({ length: 40 }, (_, index) => `maker${index}/model${index}`)
  const catalog = many.map((id) => ({ id, author: id.slice(0, id.indexOf('/')), listed_at: 0 }))
  const parts = [{ kind: 'text' as const, text: `Say hello using ${many.join(', ')}` }]
  const { requests } = buildRequestBodies({ messages: [{ role: 'user', parts }] }, catalog)
  expect(requests.map(({ model }) => model)).toEqual(many.slice(0, 16))
})
