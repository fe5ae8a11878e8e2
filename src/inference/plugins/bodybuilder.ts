import type { ModelCall } from '../../formats/call/call.ts'
import { type CallField, fieldNames } from '../../formats/fields.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { listModalities } from '../routing/filter.ts'
import type { Router } from './router.ts'

/** Fields besides those of sampling that have no effect on the reply. */
const ignoredFields: readonly CallField[] = ['tools', 'n', 'stop', 'format', 'reasoning', 'verbosity']

/** The gateway itself replies: see `inference/routers/bodybuilder.ts`. */
export const bodybuilder: Router = {
  model: 'service/bodybuilder',
  plugin: null,
  stage: 'bodybuilder',
  strategy: 'bodybuilder',
  route: ({ router, request, work }) => {
    const { call } = request.content
    assertShort(call)
    const ignored = ignoredFields.filter((field) => call[field] !== undefined)
    work.dropped.push(...ignored.map((field) => fieldNames[field]), ...listModalities(call))
    return {
      selection: {
        models: [router.model.id],
        reason: 'The gateway replies with the bodies of the requests.',
        runnersUp: [],
      },
    }
  },
}

/** The prompt is repeated in every body. */
const maxCharacters = 500_000

function assertShort({ messages }: ModelCall): void {
  let characters = 0
  for (const { parts } of messages)
    for (const part of parts) characters += part.kind === 'text' ? part.text.length : 0
  if (characters > maxCharacters)
    throw invalidFieldError(
      'messages',
      `may have ${maxCharacters} characters of text for service/bodybuilder, which repeats them in every body`,
    )
}
