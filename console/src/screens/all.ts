import { accountRoute } from './account/route.ts'
import { activityRoute } from './activity/route.ts'
import { aliasesRoute } from './aliases/route.ts'
import { auditDestinationsRoute, auditRoute } from './audit/route.ts'
import { budgetsRoute } from './budgets/route.ts'
import { creditsRoute } from './credits/route.ts'
import { destinationRoute, destinationsRoute } from './destinations/route.ts'
import { endUserRoute, endUsersRoute } from './end-users/route.ts'
import { containersRoute, filesRoute, mediaRoute } from './files/route.ts'
import { guardrailRoute, guardrailsRoute } from './guardrails/route.ts'
import { homeRoute } from './home/route.ts'
import { identityRoute } from './identity/route.ts'
import { importRoute } from './import/route.ts'
import { keyRoute, keysRoute } from './keys/route.ts'
import { limitsRoute } from './limits/route.ts'
import { memberRoute, membersRoute } from './members/route.ts'
import { catalogEditsRoute, modelRoute, modelsRoute } from './models/route.ts'
import { notificationsRoute } from './notifications/route.ts'
import { comparisonRoute, comparisonsRoute, newComparisonRoute, playgroundRoute } from './playground/route.ts'
import { presetRoute, presetsRoute } from './presets/route.ts'
import { providerRoute, providersRoute } from './providers/route.ts'
import { operationRoute, referenceRoute } from './reference/route.ts'
import { compareRequestsRoute, requestRoute } from './request/route.ts'
import { requestsRoute } from './requests/route.ts'
import { rolesRoute } from './roles/route.ts'
import { routingRoute, routingRulesRoute } from './routing/route.ts'
import { sessionRoute } from './sessions/route.ts'
import { settingsRoute } from './settings/route.ts'
import { shadowRoute, shadowsRoute } from './shadows/route.ts'
import { systemRoute } from './system/route.ts'
import { workspaceRoute, workspacesRoute } from './workspaces/route.ts'

/** Every screen of the console. */
export const screenRoutes = [
  homeRoute,
  playgroundRoute,
  comparisonsRoute,
  newComparisonRoute,
  comparisonRoute,
  modelsRoute,
  catalogEditsRoute,
  modelRoute,
  aliasesRoute,
  providersRoute,
  providerRoute,
  requestsRoute,
  requestRoute,
  compareRequestsRoute,
  sessionRoute,
  endUsersRoute,
  endUserRoute,
  activityRoute,
  creditsRoute,
  budgetsRoute,
  limitsRoute,
  keysRoute,
  keyRoute,
  workspacesRoute,
  workspaceRoute,
  membersRoute,
  memberRoute,
  rolesRoute,
  identityRoute,
  presetsRoute,
  presetRoute,
  routingRoute,
  routingRulesRoute,
  shadowsRoute,
  shadowRoute,
  filesRoute,
  mediaRoute,
  containersRoute,
  guardrailsRoute,
  guardrailRoute,
  destinationsRoute,
  destinationRoute,
  notificationsRoute,
  auditRoute,
  auditDestinationsRoute,
  settingsRoute,
  importRoute,
  systemRoute,
  referenceRoute,
  operationRoute,
  accountRoute,
]
