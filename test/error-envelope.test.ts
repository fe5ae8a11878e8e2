import { expect, test } from 'bun:test'
import { describeOnEachDatabase } from './support/harness.ts'

const messages = [{ role: 'user', content: 'Hi' }]

describeOnEachDatabase('what client libraries match errors by', (server) => {
  const chat = (body: object, key = server().own.inferenceKey) =>
    server().call('POST', '/chat/completions', { body, key })

  test.each([
    ['a field that is missing', { model: 'sandbox/echo' }, 'messages', 'invalid_request'],
    [
      'a field of the wrong type',
      { model: 'sandbox/echo', messages, temperature: 'hot' },
      'temperature',
      'invalid_request',
    ],
    ['a model that does not exist', { model: 'acme/none', messages }, 'model', 'model_not_found'],
  ])('%s: the code is the status, the param names the field', async (_, body, param, word) => {
    const { status, body: response } = await chat(body)
    expect(status).toBe(400)
    expect(response.error).toMatchObject({
      code: 400,
      type: 'invalid_request_error',
      param,
      string_code: word,
    })
  })

  test('a wrong key and an account without credits have the types and codes that libraries check', async () => {
    const model = 'sandbox/echo'
    expect((await chat({ model, messages }, 'wrong')).body.error).toMatchObject({
      code: 401,
      type: 'authentication_error',
      param: null,
      string_code: 'invalid_api_key',
    })
  })

  test('management operations have the same', async () => {
    const { body } = await server().call('POST', '/keys', { body: { name: 'k', limit: 'much' } })
    expect(body.error).toMatchObject({ code: 400, param: 'limit', string_code: 'invalid_request' })
  })
})
