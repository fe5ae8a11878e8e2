import { Badge, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { BlockEndUser } from '../../components/block-end-user.tsx'
import { TextLink } from '../../components/text-link.tsx'

/** The end user whom the request named, with a button that blocks them. */
export function EndUser({ id }: { id: string }) {
  const session = useSession()
  const mayRead = mayDoEverywhere(session, 'activity:read')
  const mayBlock = mayDoEverywhere(session, 'budgets:write')
  const options = api.queryOptions('get', '/end-users/{id}', { params: { path: { id } } }, { retry: false })
  const query = useQuery({ ...options, enabled: mayRead && mayBlock })
  if (!mayRead) return id
  return (
    <Group component="span" gap="xs">
      <TextLink to="/end-users/$id" params={{ id }}>
        {id}
      </TextLink>
      {query.data?.data.blocked ? (
        <Badge color="red" variant="light" tt="none">
          blocked
        </Badge>
      ) : (
        mayBlock && !query.isPending && <BlockEndUser name={id} label={`Block ${id}`} size="compact-xs" />
      )}
    </Group>
  )
}
