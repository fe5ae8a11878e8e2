import { expect, test } from 'bun:test'
import { describeWithUpstreams, lastRequest, readJson, sendRequest } from './two-upstreams.ts'

describeWithUpstreams(
  'S13 input that references stored items',
  (bench) => {
    const send = (input: unknown, fields = {}) =>
      sendRequest(bench(), 'responses', { model: 'test/chat', input, ...fields })
    const reference = (id: string, index: number) => ({ type: 'item_reference', id: `msg_${id}_${index}` })
    const repeated = (id: string, count: number) => Array.from({ length: count }, () => reference(id, 0))

    test('is rejected where the items together exceed the size of a body', async () => {
      const { id } = await readJson(send([{ role: 'user', content: 'x'.repeat(100_000) }]))
      bench().first.requests.length = 0
      const response = await send(repeated(id, 20), { store: false })
      expect(response.status).toBe(413)
      expect(bench().first.requests).toEqual([])
      expect((await send(repeated(id, 9), { store: false })).status).toBe(200)
      expect(lastRequest(bench().first.requests).json.messages).toHaveLength(9)
    })

    test('counts the items of an earlier response', async () => {
      const { id } = await readJson(send([{ role: 'user', content: 'x'.repeat(300_000) }]))
      const next = await readJson(send([{ role: 'user', content: 'x'.repeat(400_000) }]))
      const fields = { store: false, previous_response_id: next.id }
      expect((await send(repeated(id, 3), { store: false })).status).toBe(200)
      expect((await send(repeated(id, 3), fields)).status).toBe(413)
    })

    test('is rejected where the items together exceed the parts of a request', async () => {
      const content = Array.from({ length: 60 }, () => ({ type: 'input_text', text: 'x' }))
      const { id } = await readJson(send([{ role: 'user', content }]))
      const response = await send(repeated(id, 2), { store: false })
      expect(response.status).toBe(400)
      expect((await readJson(response)).error.message).toContain('limits.parts')
    })

    test('has each of them in position, from any page and response', async () => {
      const request = (name: string) =>
        Array.from({ length: 4 }, (_, index) => ({
          role: 'user',
          content: `${name}${index} ${'x'.repeat(40_000)}`,
        }))
      const a = await readJson(send(request('a')))
      const b = await readJson(send(request('b')))
      const references = [reference(a.id, 3), reference(b.id, 0), reference(a.id, 0), reference(a.id, 3)]
      await send([...references, reference(b.id, 1), { role: 'user', content: 'And?' }])
      const { messages } = lastRequest(bench().first.requests).json
      const names = messages.map(({ content }: { content: string }) => content.split(' ')[0])
      expect(names).toEqual(['a3', 'b0', 'a0', 'a3', 'b1', 'And?'])
    })
  },
  'limits: { body_bytes: 1048576, parts: 100 }',
)
