import { expect, test } from 'bun:test'
import { trimResponses } from '../../src/storage/response-quota.ts'
import { type Bench, describeWithUpstreams, lastRequest, readJson, sendRequest } from './two-upstreams.ts'

const many = <T>(count: number, entry: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => entry(index))

async function store(bench: Bench, input: unknown, extra: object = {}) {
  const response = await sendRequest(bench, 'responses', { model: 'test/chat', input, ...extra })
  expect(response.status).toBe(200)
  return readJson(response)
}

async function list(bench: Bench, id: string, query: string) {
  const { server } = bench
  const response = await server.call('GET', `/responses/${id}/input_items?${query}`, {
    key: server.own.inferenceKey,
  })
  expect(response.status).toBe(200)
  return response.body
}

/** All rows of stored responses. */
async function storedBytes({ server }: Bench, id: string): Promise<number> {
  const { db } = server.gateway
  const rows = await Promise.all([
    db.selectFrom('stored_responses').selectAll().where('id', '=', id).execute(),
    db.selectFrom('stored_pages').selectAll().where('response_id', '=', id).execute(),
    db.selectFrom('stored_item_ids').selectAll().where('response_id', '=', id).execute(),
  ])
  return JSON.stringify(rows).length
}

describeWithUpstreams('S13 a stored response', (bench) => {
  const request = (count: number) => many(count, (index) => ({ role: 'user', content: `word ${index}` }))

  test('takes little more space than its input, however many items that is', async () => {
    const input = request(3000)
    const made = await store(bench(), input)
    expect(await storedBytes(bench(), made.id)).toBeLessThan(2 * JSON.stringify(input).length)
  })

  test('is listed a page at a time, in both orders, without a gap', async () => {
    const made = await store(bench(), request(250))
    for (const order of ['asc', 'desc']) {
      const contents: string[] = []
      for (let after = '', more = true; more; ) {
        const page = await list(bench(), made.id, `limit=60&order=${order}${after && `&after=${after}`}`)
        contents.push(...page.data.map((item: { content: string }) => item.content))
        expect([page.first_id, page.last_id]).toEqual([page.data[0].id, page.data.at(-1).id])
        after = page.last_id
        more = page.has_more
      }
      const expected = many(250, (index) => `word ${index}`)
      expect(contents).toEqual(order === 'asc' ? expected : expected.reverse())
    }
  })

  test('reads only the requested pages', async () => {
    const made = await store(bench(), request(1000))
    const { vault } = bench().server.gateway
    const decrypt = vault.decrypt.bind(vault)
    let decrypted = 0
    vault.decrypt = (encrypted, context) => {
      decrypted += 1
      return decrypt(encrypted, context)
    }
    try {
      await list(bench(), made.id, 'limit=20')
    } finally {
      vault.decrypt = decrypt
    }
    expect(decrypted).toBeLessThanOrEqual(2)
  })

  test('is found by the ids of its items: generated ones, and those of the client', async () => {
    const input = [
      { role: 'user', content: 'first fact' },
      { id: 'item_own', role: 'user', content: 'second fact' },
    ]
    const made = await store(bench(), input)
    const items = (await list(bench(), made.id, 'order=asc')).data
    expect(items[1].id).toBe('item_own')
    const references = items.map(({ id }: { id: string }) => ({ type: 'item_reference', id }))
    await store(bench(), [...references, { role: 'user', content: 'And?' }])
    const sent = JSON.stringify(lastRequest(bench().first.requests).json)
    expect([sent.includes('first fact'), sent.includes('second fact')]).toEqual([true, true])
    const foreign = await sendRequest(
      bench(),
      'responses',
      { model: 'test/chat', input: references },
      { key: bench().server.foreign.inferenceKey },
    )
    expect(foreign.status).toBe(400)
  })

  test.each([
    'include=reasoning.encrypted_content',
    'include[]=message.input_image.image_url',
    'include%5B%5D=message.input_image.image_url&include%5B%5D=file_search_call.results',
  ])('lists the same items with %s: they have all their fields anyway', async (query) => {
    const content = [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' }]
    const made = await store(bench(), [{ role: 'user', content }])
    const listed = await list(bench(), made.id, query)
    expect(listed.data[0].content).toMatchObject(content)
    expect(listed).toEqual(await list(bench(), made.id, ''))
  })

  test.each(['include=a&include=b', 'include=a&include[]=b'])(
    'a duplicate parameter is rejected: %s',
    async (query) => {
      const { server } = bench()
      const made = await store(bench(), request(1))
      const path = `/responses/${made.id}/input_items?${query}`
      expect((await server.call('GET', path, { key: server.own.inferenceKey })).status).toBe(400)
    },
  )

  test.each(['msg_unknown', 'a b', 'msg_resp_1_999'])('an unknown item %j is rejected', async (after) => {
    const { server } = bench()
    const made = await store(bench(), request(2))
    const path = `/responses/${made.id}/input_items?after=${encodeURIComponent(after)}`
    expect((await server.call('GET', path, { key: server.own.inferenceKey })).status).toBe(400)
  })
})

describeWithUpstreams(
  'S13 the stored responses of a workspace',
  (bench) => {
    const workspace = () => bench().server.own.workspace.id
    const count = async () => {
      const rows = await bench().server.gateway.db.selectFrom('stored_responses').select('id').execute()
      return rows.length
    }

    test('stay within their count: the oldest are deleted', async () => {
      const made: string[] = []
      for (let index = 0; index < 15; index++) {
        made.push((await store(bench(), `prompt ${index}`)).id)
        bench().server.clock.advance(1000)
      }
      const { gateway, own } = bench().server
      await trimResponses(gateway.db, workspace(), gateway.settings.responses)
      expect(await count()).toBe(10)
      const read = (id: string | undefined) =>
        bench().server.call('GET', `/responses/${id}`, { key: own.inferenceKey })
      expect([(await read(made[0])).status, (await read(made.at(-1))).status]).toEqual([404, 200])
    })

    test('stay within their bytes, without affecting another workspace', async () => {
      const { gateway, foreign } = bench().server
      const key = foreign.inferenceKey
      const theirs = await sendRequest(
        bench(),
        'responses',
        { model: 'sandbox/echo:free', input: 'Hi' },
        { key },
      )
      expect(theirs.status).toBe(200)
      const newest = await store(bench(), 'x'.repeat(100_000))
      await trimResponses(gateway.db, workspace(), { max_count: 1000, max_bytes: 200_000 })
      const rows = await gateway.db.selectFrom('stored_responses').select(['id', 'stored_bytes']).execute()
      expect(rows.map((row) => row.id)).toContain(newest.id)
      expect(rows.reduce((sum, row) => sum + row.stored_bytes, 0)).toBeLessThan(250_000)
      expect(rows.map((row) => row.id)).toContain((await readJson(theirs)).id)
    })

    test('are trimmed automatically as they grow', async () => {
      for (let index = 0; index < 30; index++) await store(bench(), `prompt ${index}`)
      for (let tries = 0; (await count()) > 15 && tries < 200; tries++) await Bun.sleep(10)
      expect(await count()).toBeLessThanOrEqual(15)
    })
  },
  'responses: { max_count: 10 }',
)
