import { expect, test } from 'bun:test'
import { curlOf, urlOf } from '../../api/call.ts'
import { type ApiDocument, listOperations, type Operation } from './document.ts'
import {
  baseUrlOf,
  bodyShapeOf,
  callOfDraft,
  createDraft,
  encodeBody,
  findProblem,
  listFormFields,
} from './draft.ts'

const document: ApiDocument = await Bun.file(new URL('../../../../openapi.json', import.meta.url)).json()
const operations = listOperations(document)
const site = 'https://tools.example.com/gate/'

function find(id: string): Operation {
  const operation = operations.find((candidate) => candidate.id === id)
  if (!operation) throw new Error(`there is no ${id}`)
  return operation
}

test('a path parameter is required and escaped, a query parameter left out while it is empty', () => {
  const operation = find('getKey')
  const draft = createDraft(document, operation)
  expect(findProblem(operation, draft)).toBe('Fill in hash.')
  draft.parameters['path hash'] = 'a/b?c'
  expect(findProblem(operation, draft)).toBeNull()
  const url = urlOf(callOfDraft(operation, draft), baseUrlOf(operation, site))
  expect(url).toBe('https://tools.example.com/gate/api/v1/keys/a%2Fb%3Fc')
})

test('query parameters and headers are in the address and the command', () => {
  const operation = find('listKeys')
  const draft = createDraft(document, operation)
  draft.parameters['query offset'] = '100'
  expect(urlOf(callOfDraft(operation, draft), baseUrlOf(operation, site))).toEndWith(
    '/api/v1/keys?offset=100',
  )
  const chat = find('createChatCompletion')
  const request = createDraft(document, chat)
  request.parameters['header x-title'] = "it's"
  expect(curlOf(callOfDraft(chat, request), 'base')).toContain(`-H 'x-title: it'\\''s'`)
})

test('a body begins with a model of the sandbox, and must be JSON', () => {
  const operation = find('createChatCompletion')
  const draft = createDraft(document, operation)
  expect(JSON.parse(draft.json)).toEqual({
    model: 'sandbox/echo',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  expect(findProblem(operation, { ...draft, json: '{' })).toBe('The body is not valid JSON.')
  expect(encodeBody(operation, draft)).toEqual({ body: draft.json, contentType: 'application/json' })
})

test('a form has files and texts', () => {
  const operation = find('uploadFile')
  const { kind, schema } = bodyShapeOf(operation)
  expect(kind).toBe('multipart')
  expect(listFormFields(document, schema)).toContainEqual(
    expect.objectContaining({ name: 'file', isFile: true }),
  )
  const file = new File(['x'], 'a.txt')
  const draft = { ...createDraft(document, operation), fields: { file, purpose: '' } }
  expect(curlOf(callOfDraft(operation, draft), 'base')).toContain("-F 'file=@a.txt'")
  const { body } = encodeBody(operation, draft)
  expect(body instanceof FormData && [...body.keys()]).toEqual(['file'])
})

test('every operation can be drafted and shown as a command', () => {
  for (const operation of operations) {
    const draft = createDraft(document, operation)
    expect(curlOf(callOfDraft(operation, draft), baseUrlOf(operation, site))).toStartWith('curl ')
    findProblem(operation, draft)
  }
})
