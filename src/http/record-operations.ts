import { authorizeCaller } from '../access/known-callers.ts'
import { addSynonyms, usesSynonyms } from '../formats/synonyms.ts'
import { validateInput } from '../platform/validation/validate-input.ts'
import { enforceIfMatch, recordQueueOf } from './etag.ts'
import { idempotencyHeader, markDropped } from './idempotency.ts'
import type { Operation } from './operation.ts'
import { parseQuery } from './parameters.ts'

export type Context = Parameters<Operation['handle']>[0]

export function toResponse({ status }: Operation, request: Request, result: unknown): Response {
  if (result instanceof Response) return result
  return Response.json(usesSynonyms(request) ? addSynonyms(result) : result, { status })
}

/** A PUT, PATCH or DELETE, which may have the condition that the record is as the client has read it. */
export async function changeRecord(
  operation: Operation,
  context: Context,
  readOperation: Operation | undefined,
): Promise<Response> {
  const { gateway, httpRequest } = context
  const run = async () => toResponse(operation, httpRequest, await operation.handle(context))
  const condition = httpRequest.headers.get('if-match')
  const read = readOperation?.params ? () => readCurrent(readOperation, context) : null
  const runIfMatching = async (header: string) => {
    await enforceIfMatch(header, read, operation.method === 'PUT')
    return run()
  }
  const response =
    condition === null
      ? await run()
      : await recordQueueOf(gateway).run(nameRecord(operation, context), () => runIfMatching(condition))
  return httpRequest.headers.has(idempotencyHeader) ? markDropped(response) : response
}

/** The same under every base path of the API. */
function nameRecord({ path }: Operation, { caller, params }: Context): string {
  return JSON.stringify([caller?.organizationId, path, params])
}

/** The record as its GET returns it to the caller. */
async function readCurrent(operation: Operation, context: Context): Promise<unknown> {
  const { gateway, caller, httpRequest } = context
  const scope = await authorizeCaller(gateway, caller, operation)
  const query = operation.query && validateInput(operation.query, parseQuery(httpRequest), 'query')
  return operation.handle({ ...context, scope, query, body: undefined } as Context)
}
