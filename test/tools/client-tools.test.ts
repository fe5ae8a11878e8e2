import { expect, test } from 'bun:test'
import { describeWithUpstreamsOnSqlite, sendRequest } from '../inference/two-upstreams.ts'
import { describeOnSqlite, type TestServer } from '../support/harness.ts'
import { type Format, itemOf, modelSettings, send } from './support.ts'

/** The tool of a client, hidden until it is found. */
function deferredTool(format: Format): object {
  const schema = { type: 'object', properties: { city: { type: 'string', description: 'A place' } } }
  const fields = { name: 'get_weather', description: 'The forecast', defer_loading: true }
  return format === 'messages'
    ? { ...fields, input_schema: schema }
    : { type: 'function', ...fields, parameters: schema }
}

async function upload(server: TestServer, key: string, name: string, text: string): Promise<string> {
  const form = new FormData()
  form.set('file', new File([text], name, { type: 'text/plain' }))
  const { body } = await server.call('POST', '/files', { key, body: form })
  return body.id
}

const searchTool = { type: 'service:tool_search' }

describeOnSqlite(
  'tools for clients',
  (server) => {
    for (const format of ['messages', 'responses'] as const) {
      test(`deferred tools are hidden until they are found: ${format}`, async () => {
        const tools = [searchTool, deferredTool(format)]
        const hidden = await send(server(), format, 'get_weather', tools)
        expect(JSON.stringify(hidden.body)).not.toContain('"type":"tool_use"')
        expect(JSON.stringify(hidden.body)).not.toContain('"function_call"')
        const text = 'tool_search|get_weather sandbox:rounds=2'
        const { status, body } = await send(server(), format, text, tools)
        expect(status).toBe(200)
        const called =
          format === 'messages'
            ? // biome-ignore lint/suspicious/noExplicitAny: blocks of every shape
              body.content.find(({ type }: any) => type === 'tool_use')
            : itemOf(body, 'function_call')
        expect(called.name).toBe('get_weather')
      })
    }

    test('a search says what is wrong with its pattern', async () => {
      const { body } = await send(server(), 'responses', 'tool_search (', [
        searchTool,
        deferredTool('responses'),
      ])
      expect(itemOf(body, 'service:tool_search')).toMatchObject({ status: 'incomplete', is_error: true })
    })

    test('a search needs a free choice of tools', async () => {
      const tools = [searchTool, deferredTool('responses')]
      const { status, body } = await send(server(), 'responses', 'Hello', tools, { tool_choice: 'required' })
      expect([status, body.error.message]).toEqual([400, expect.stringContaining('tool_choice')])
      const deferred = await send(server(), 'responses', 'Hello', [{ ...searchTool, defer_loading: true }])
      expect(deferred.status).toBe(400)
      const wide = await send(server(), 'responses', 'Hello', [
        { ...searchTool, parameters: { max_results: 51 } },
      ])
      expect(wide.status).toBe(400)
    })

    test('R37 files are those of the workspace', async () => {
      const { own, foreign } = server()
      await upload(server(), own.inferenceKey, 'ours.txt', 'the needle is here')
      const theirs = await upload(server(), foreign.inferenceKey, 'theirs.txt', 'a needle of others')
      const { body } = await send(server(), 'responses', 'files', [{ type: 'service:files' }])
      const item = itemOf(body, 'service:files')
      expect(item).toMatchObject({ operation: 'list', status: 'completed' })
      expect(item.result).toContain('ours.txt')
      expect(item.result).not.toContain(theirs)
    })
  },
  { settings: modelSettings },
)

function replyWithCall(name: string, input: object) {
  const message = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  }
  return {
    json: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'vendor-model',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
  }
}

const patchTool = { type: 'service:apply_patch' }
const operation = { type: 'update_file', path: 'a.txt', diff: '@@\n-old\n+new\n' }

describeWithUpstreamsOnSqlite('patches and files', (bench) => {
  test('a valid patch is for the client to apply, and its result goes back to the model', async () => {
    const { first } = bench()
    first.enqueue(replyWithCall('apply_patch', { operation }))
    const body = { model: 'test/chat', tools: [patchTool] }
    const response = await sendRequest(bench(), 'responses', body)
    // biome-ignore lint/suspicious/noExplicitAny: items of every shape
    const { output }: any = await response.json()
    const call = itemOf({ output }, 'apply_patch_call')
    expect(call).toMatchObject({ call_id: 'call_1', operation, status: 'completed' })
    first.requests.length = 0
    const result = { type: 'apply_patch_call_output', call_id: 'call_1', status: 'completed', output: 'Done' }
    const input = [{ role: 'user', content: 'Change it' }, call, result]
    await sendRequest(bench(), 'responses', { ...body, input })
    const { messages } = first.requests.at(-1)?.json ?? {}
    expect(messages.at(-2).tool_calls[0].function).toEqual({
      name: 'apply_patch',
      arguments: JSON.stringify({ operation }),
    })
    expect(messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_1', content: 'Done' })
  })

  test('the model gets the problem of a patch', async () => {
    const { first } = bench()
    first.requests.length = 0
    first.enqueue(replyWithCall('apply_patch', { operation: { ...operation, diff: 'old' } }))
    const response = await sendRequest(bench(), 'responses', { model: 'test/chat', tools: [patchTool] })
    // biome-ignore lint/suspicious/noExplicitAny: items of every shape
    const { output }: any = await response.json()
    expect(itemOf({ output }, 'apply_patch_call')).toBeUndefined()
    expect(itemOf({ output }, 'service:apply_patch').status).toBe('incomplete')
    expect(first.requests.at(-1)?.json.messages.at(-1).content).toContain('operation.diff: line 1')
  })

  test('R37 a file of another workspace cannot be read', async () => {
    const { first, server } = bench()
    const id = await upload(server, server.foreign.inferenceKey, 'theirs.txt', 'a secret')
    const ours = await upload(server, server.own.inferenceKey, 'ours.txt', 'our own text')
    for (const [file_id, expected] of [
      [id, 'does not exist'],
      [ours, 'our own text'],
    ] as const) {
      first.enqueue(replyWithCall('files', { operation: 'read', file_id }))
      await sendRequest(bench(), 'chat', { model: 'test/chat', tools: [{ type: 'service:files' }] })
      expect(first.requests.at(-1)?.json.messages.at(-1).content).toContain(expected)
    }
    first.enqueue(replyWithCall('files', { operation: 'search', query: 'OWN text' }))
    await sendRequest(bench(), 'chat', { model: 'test/chat', tools: [{ type: 'service:files' }] })
    expect(first.requests.at(-1)?.json.messages.at(-1).content).toContain('ours.txt')
  })
})
