import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'

/** Says where prompts and replies are not stored: in the named workspaces; in any, if none or only excluded ones are named. */
export function ContentNote({ workspaceId }: { workspaceId: string | undefined }) {
  const session = useSession()
  const ids = workspaceId?.includes('!') ? undefined : workspaceId
  const { data } = useQuery({
    ...api.queryOptions('get', '/workspaces', {
      params: { query: { limit: 100, ...(ids && { ids }) } },
    }),
    enabled: mayDo(session, 'workspaces:read'),
  })
  const text = data && describe(data.data, data.total_count)
  if (!text) return null
  return (
    <Text size="xs" c="dimmed" lineClamp={2}>
      {text}
    </Text>
  )
}

function describe(listed: Schemas['Workspace'][], total: number): string | null {
  if (total > listed.length)
    return 'Prompts and replies are stored only for workspaces with content logging in their settings.'
  const silent = listed.filter((workspace) => !workspace.is_observability_io_logging_enabled)
  if (silent.length === 0) return null
  const where = silent.length === listed.length ? '' : ` in ${silent.map(({ name }) => name).join(', ')}`
  return `Prompts and replies are not stored${where}: content logging is off in the settings of the workspace.`
}
