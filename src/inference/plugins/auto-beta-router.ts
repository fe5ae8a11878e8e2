import { routeByTask } from './auto-router.ts'
import type { Plugin } from './plugin.ts'
import { type Router, settingsOf } from './router.ts'

export const autoBetaRouterPlugin: Plugin<'auto-beta-router'> = { id: 'auto-beta-router' }

export const autoBetaRouter: Router = {
  model: 'service/auto-beta',
  plugin: 'auto-beta-router',
  stage: 'auto-beta-router',
  strategy: 'auto',
  route: (context) => routeByTask(context, 'auto-beta-router', settingsOf(context, 'auto-beta-router'), null),
}
