import { expect, test } from 'bun:test'
import type { Model } from '../../../catalog/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { compressResponse } from '../../../http/compress-response.ts'
import { attachSharedBody, sharedBodyOf } from '../../../http/shared-body.ts'
import { reuseList } from './list-cache.ts'

const models = ['a/one', 'a/two'].map((id) => ({ id }) as Model)
const createGateway = () =>
  ({ catalog: { models: [...models] }, benchmarks: { current: {} } }) as unknown as Gateway

test('S13 a list of the same models is built once, until what it is made from changes', () => {
  const gateway = createGateway()
  let builds = 0
  const read = (query = '/v1/models', listed = models) =>
    reuseList(gateway, query, listed, () => ({ data: listed, build: ++builds }))
  const first = read()
  expect(read()).toBe(first)
  expect(builds).toBe(1)
  expect(read('/v1/models', models.slice(1))).not.toBe(first)
  expect(read('/v1/models?limit=1')).not.toBe(first)
  expect(read()).toBe(first)
  Object.assign(gateway.benchmarks, { current: {} })
  expect(read()).not.toBe(first)
  Object.assign(gateway, { catalog: { models: [...models] } })
  expect(read().build).toBe(5)
})

test('S13 the number of lists is bounded', () => {
  const gateway = createGateway()
  let builds = 0
  const read = (query: number) => reuseList(gateway, String(query), models, () => ({ build: ++builds }))
  for (let query = 0; query < 100; query++) read(query)
  read(99)
  expect(builds).toBe(100)
  read(0)
  expect(builds).toBe(101)
})

test('S13 parallel requests for a list share one compression', async () => {
  const list = reuseList(createGateway(), '/v1/models', models, () => ({ data: 'x'.repeat(100_000) }))
  const body = sharedBodyOf(list)
  if (!body) throw new Error('the list is not shared')
  let compressions = 0
  const run = (text: string) => {
    compressions++
    return Promise.resolve(Bun.gzipSync(text))
  }
  const results = await Promise.all(Array.from({ length: 30 }, () => body.compress('gzip', run)))
  expect([compressions, new Set(results).size]).toEqual([1, 1])
  const request = new Request('http://127.0.0.1/', { headers: { 'accept-encoding': 'gzip' } })
  const response = new Response(body.text, { headers: { 'content-type': 'application/json' } })
  const compressed = await compressResponse(request, attachSharedBody(response, body))
  expect(Buffer.from(Bun.gunzipSync(await compressed.arrayBuffer())).toString()).toBe(body.text)
})
