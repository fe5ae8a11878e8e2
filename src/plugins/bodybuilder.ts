import type { Router } from './router.ts'

/** The gateway itself replies: see `router-models/bodybuilder.ts`. */
export const bodybuilder: Router = {
  model: 'service/bodybuilder',
  plugin: null,
  stage: 'bodybuilder',
  strategy: 'bodybuilder',
  route: ({ router }) => ({
    selection: {
      models: [router.model.id],
      reason: 'The gateway replies with the bodies of the requests.',
      runnersUp: [],
    },
  }),
}
