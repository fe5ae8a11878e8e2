import { expect, test } from 'bun:test'
import { applyChange, hasChange, noChange, type PresetVersion } from './change.ts'
import type { SavedRequest } from './request-set.ts'

const request = (body: Record<string, unknown>, format: SavedRequest['format'] = 'chat'): SavedRequest => ({
  id: 'x',
  name: 'x',
  format,
  body,
})
const hello = [{ role: 'user', content: 'Hello' }]
const version: PresetVersion = {
  id: 'v',
  preset_id: 'p',
  creator_id: 'u',
  version: 2,
  format: 'chat',
  system_prompt: 'Be brief.',
  config: {
    model: 'a/preset',
    temperature: 0.1,
    provider: { sort: 'price' },
    tools: [{ type: 'web' }, { type: 'x' }],
  },
  created_at: '',
  updated_at: '',
}
const preset = { slug: 'support', version: 2, forAll: false }

test('nothing chosen changes nothing', () => {
  const body = { model: 'a/b', messages: hello, provider: { zdr: true } }
  expect([applyChange(request(body), noChange, null), hasChange(noChange)]).toEqual([body, false])
})

test('models and preferences replace those of the request, one by one', () => {
  const body = { model: 'a/b', messages: hello, provider: { zdr: true, sort: 'price' } }
  const change = {
    ...noChange,
    model: 'c/d',
    models: ['e/f'],
    sort: 'latency',
    only: ['x'],
    allowFallbacks: false,
  }
  expect(applyChange(request(body), change, null)).toEqual({
    model: 'c/d',
    models: ['e/f'],
    messages: hello,
    provider: { zdr: true, sort: 'latency', only: ['x'], allow_fallbacks: false },
  })
})

test('a default order applies to requests without an order of their own', () => {
  const change = { ...noChange, sort: 'latency', isDefaultSort: true }
  const withOrder = { model: 'a/b', provider: { order: ['x'] } }
  expect(applyChange(request(withOrder), change, null)).toEqual(withOrder)
  expect(applyChange(request({ model: 'a/b' }), change, null)).toMatchObject({
    provider: { sort: 'latency' },
  })
})

test('a version of a preset is merged into requests that name it: their own fields take precedence', () => {
  const body = {
    model: 'x/y@preset/support',
    messages: hello,
    temperature: 1,
    tools: [{ type: 'web', name: '' }],
  }
  expect(applyChange(request(body), { ...noChange, preset }, version)).toEqual({
    model: 'x/y',
    messages: [{ role: 'system', content: 'Be brief.' }, ...hello],
    temperature: 1,
    provider: { sort: 'price' },
    tools: [{ type: 'x' }, { type: 'web', name: '' }],
  })
  const named = applyChange(
    request({ model: '@preset/support', messages: hello }),
    { ...noChange, preset },
    version,
  )
  expect(named).toMatchObject({ model: 'a/preset' })
})

test('other requests stay as they are, unless all are to use it', () => {
  const body = { model: 'x/y', messages: [{ role: 'system', content: 'Own.' }] }
  expect(applyChange(request(body), { ...noChange, preset }, version)).toEqual(body)
  const forAll = applyChange(request(body), { ...noChange, preset: { ...preset, forAll: true } }, version)
  expect(forAll).toMatchObject({ model: 'a/preset', messages: body.messages })
})

test('a version of another format cannot be tried', () => {
  const body = { model: '@preset/support', input: 'Hello' }
  expect(applyChange(request(body, null), { ...noChange, preset }, version)).toMatch(/in the format chat/)
})
