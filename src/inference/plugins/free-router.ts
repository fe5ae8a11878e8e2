import { selectFree } from '../routers/free.ts'
import { noModelError, type Router } from './router.ts'
import { describeModel, isFree, listServingModels, listTextModels } from './router-candidates.ts'

export const freeRouter: Router = {
  model: 'service/free',
  plugin: null,
  stage: 'free-router',
  strategy: 'free',
  route: (context) => {
    const { gateway, isDryRun } = context
    const free = [...listServingModels(context, listTextModels(gateway).free)].flatMap(
      ([model, candidates]) =>
        candidates.every(({ endpoint }) => isFree(endpoint))
          ? [describeModel(gateway, model, candidates, null)]
          : [],
    )
    // A quote draws nothing.
    const selection = selectFree(free, isDryRun ? null : gateway.routing.random)
    if (!selection) throw noModelError(context, 'No free model supports what it needs. Name a model.')
    return { selection }
  },
}
