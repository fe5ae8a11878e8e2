import { z } from 'zod'
import { transact } from '../../../access/transact.ts'
import {
  type DefaultPlugin,
  defaultPlugin,
  type PluginId,
  type PluginSettings,
} from '../../../formats/schema/plugins.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { defineOperation } from '../../../http/operation.ts'
import { loadDefaultPlugins, lockOrganization, setDefaultPlugins } from '../../../identity/organizations.ts'
import { findPlugin } from '../../../inference/plugins/all.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'

const defaultPlugins = z.strictObject({
  plugins: z.array(defaultPlugin).max(20).describe('At most one entry for each plugin'),
})

const pluginsResponse = z.strictObject({ data: defaultPlugins.extend({ managed_by: managedBy }) })

const getDefaultPlugins = defineOperation({
  id: 'getDefaultPlugins',
  method: 'GET',
  path: '/organization/plugins',
  tag: 'Organization',
  summary: 'Retrieves the default plugins of the organization.',
  permission: 'plugins:read',
  response: pluginsResponse,
  handle: async ({ gateway, caller }) => {
    const plugins = (await loadDefaultPlugins(gateway.db, caller.organizationId)) as DefaultPlugin[]
    return { data: { plugins } }
  },
})

const replaceDefaultPlugins = defineOperation({
  id: 'replaceDefaultPlugins',
  method: 'PUT',
  path: '/organization/plugins',
  tag: 'Organization',
  summary: 'Replaces the default plugins of the organization.',
  description:
    'They apply to every request that does not name them in `plugins`. A request can use other settings, or switch a default off with `{"id": ..., "enabled": false}`, unless `prevent_overrides` is true: then the settings here are final, also `"enabled": false`, and a request that names the plugin with other settings is served with these and names the plugin in `x-headgate-dropped`.',
  permission: 'plugins:write',
  body: defaultPlugins,
  response: pluginsResponse,
  handle: async (request) => {
    const { gateway, caller, body } = request
    const { plugins } = body
    const ids = plugins.map(({ id }) => id)
    const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index)
    if (repeated >= 0)
      throw invalidFieldError(`plugins.${repeated}.id`, `"${ids[repeated]}" is listed more than once`)
    for (const entry of plugins) validateDefault(gateway, entry)
    await transact(request, async (tx, record) => {
      const before = await lockOrganization(tx, caller.organizationId)
      const after = await setDefaultPlugins(tx, caller.organizationId, plugins)
      const target = { type: 'organization', id: caller.organizationId, name: after.name }
      record({ action: 'organization.update', target, before: before ?? null, after })
    })
    return { data: { plugins } }
  },
})

/** A default that cannot be used would break every request. */
function validateDefault(
  gateway: Gateway,
  { id, enabled = true, prevent_overrides: _final, ...rest }: DefaultPlugin,
): void {
  const plugin = findPlugin(id)
  const settings = rest as PluginSettings<PluginId>
  plugin?.validate?.(settings)
  if (enabled) plugin?.assertConfigured?.(gateway, settings)
}

export const pluginOperations = [getDefaultPlugins, replaceDefaultPlugins]
