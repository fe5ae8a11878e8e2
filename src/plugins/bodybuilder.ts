import { type CallField, fieldNames } from '../dialects/fields.ts'
import { listModalities } from '../routing/filter.ts'
import type { Router } from './router.ts'

/** Fields besides those of sampling that have no effect on the reply. */
const ignoredFields: readonly CallField[] = ['tools', 'n', 'stop', 'format', 'reasoning', 'verbosity']

/** The gateway itself replies: see `router-models/bodybuilder.ts`. */
export const bodybuilder: Router = {
  model: 'service/bodybuilder',
  plugin: null,
  stage: 'bodybuilder',
  strategy: 'bodybuilder',
  route: ({ router, request, work }) => {
    const { call } = request.content
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
