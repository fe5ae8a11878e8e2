import { expect, test } from 'bun:test'
import {
  draftModels,
  isPrice,
  nameOfServer,
  readAddress,
  slugOfServer,
  toModelBodies,
  toProviderBody,
} from './server-draft.ts'

test('an address is told from a name', () => {
  expect(readAddress(' http://10.0.0.5:8000/v1/ ')).toBe('http://10.0.0.5:8000/v1')
  expect(readAddress('HTTPS://llm.example.com/v1')).toBe('HTTPS://llm.example.com/v1')
  for (const text of ['', 'openai', 'ftp://host/v1', 'http://', 'http://a b', 'https://host/v1?key=1'])
    expect(readAddress(text)).toBeNull()
})

test('a server is named after its host', () => {
  expect(nameOfServer({ name: '', address: 'http://10.0.0.5:8000/v1' })).toBe('10.0.0.5:8000')
  expect(nameOfServer({ name: ' Team vLLM ', address: 'http://10.0.0.5:8000/v1' })).toBe('Team vLLM')
})

test('a slug is that of no other provider', () => {
  expect(slugOfServer('Team vLLM!', new Set())).toBe('team-vllm')
  expect(slugOfServer('OpenAI', new Set(['openai', 'openai-2']))).toBe('openai-3')
  expect(slugOfServer('模型', new Set())).toBe('server')
})

test('the body has what was entered', () => {
  const draft = { address: ' http://h/v1 ', key: ' ', name: '', format: 'chat' as const }
  expect(toProviderBody(draft)).toEqual({ name: 'h', base_url: 'http://h/v1', dialects: ['chat'] })
  expect(toProviderBody({ ...draft, key: ' k ' }).api_key).toBe('k')
})

test('models have the price that was entered, else that of the list, else none', () => {
  const pricing = { prompt: '0.000001', completion: '0.000002', request: '0.01' }
  const offered = [
    { id: 'listed', pricing, declared_as: [] },
    { id: 'own', declared_as: [] },
    { id: 'left', declared_as: [] },
  ]
  const drafts = draftModels(offered).map((draft) => ({ ...draft, isChosen: draft.model !== 'left' }))
  expect(drafts[0]).toEqual({ model: 'listed', isChosen: true, input: '1', output: '2' })
  expect(toModelBodies(drafts, offered)).toEqual([
    { upstream_model: 'listed', pricing },
    { upstream_model: 'own', pricing: { prompt: '0', completion: '0' } },
  ])
  expect([isPrice(''), isPrice('2.5'), isPrice('-1'), isPrice('abc')]).toEqual([true, true, false, false])
})

test('many models are chosen one by one', () => {
  const offered = Array.from({ length: 21 }, (_, index) => ({ id: `m${index}`, declared_as: [] }))
  expect(draftModels(offered).some(({ isChosen }) => isChosen)).toBe(false)
})
