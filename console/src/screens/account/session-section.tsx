import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { client, type Schemas } from '../../api/client.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { describeBrowser } from './browser-name.ts'
import { sessionsOptions } from './options.ts'

const methods = {
  link: 'a link of the command line',
  email: 'a link by mail',
  password: 'a password',
  passkey: 'a passkey',
  invitation: 'an invitation',
  oidc: 'single sign-on',
}

export function SessionSection() {
  const queryClient = useQueryClient()
  const query = useQuery(sessionsOptions)
  const refresh = () => queryClient.invalidateQueries(sessionsOptions)
  const endOne = useMutation({
    mutationFn: (id: string) => client.DELETE('/sessions/{id}', { params: { path: { id } } }),
    onSuccess: refresh,
  })
  const endOthers = useMutation({ mutationFn: () => client.DELETE('/sessions'), onSuccess: refresh })
  const error = endOne.error ?? endOthers.error
  return (
    <Panel
      title="Sessions"
      description="Where you are signed in. Sign out sessions that you do not recognize."
    >
      {error !== null && <ErrorNotice error={error} />}
      <QueryView query={query}>
        {({ data }) => (
          <Stack gap="sm">
            {data.map((session) => (
              <SessionRow key={session.id} session={session} onEnd={() => endOne.mutate(session.id)} />
            ))}
            {data.length > 1 && (
              <Group>
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => endOthers.mutate()}
                  loading={endOthers.isPending}
                >
                  Sign out everywhere else
                </Button>
              </Group>
            )}
          </Stack>
        )}
      </QueryView>
    </Panel>
  )
}

function SessionRow({ session, onEnd }: { session: Schemas['Session']; onEnd: () => void }) {
  const browser = describeBrowser(session.user_agent)
  return (
    <Group justify="space-between" gap="xs" align="flex-start">
      <div style={{ minWidth: 0, flex: '1 1 240px' }}>
        <Group gap="xs">
          <Text size="sm" fw={600} title={session.user_agent ?? undefined}>
            {browser}
          </Text>
          {session.current && (
            <Badge color="teal" variant="light" tt="none">
              this one
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
          {session.ip ?? 'unknown address'}, with {methods[session.method]}, signed in{' '}
          <Time iso={session.created_at} style="age" />, last seen{' '}
          <Time iso={session.last_seen_at} style="age" />
        </Text>
      </div>
      {!session.current && (
        <Button variant="subtle" color="red" size="xs" onClick={onEnd} aria-label={`Sign out ${browser}`}>
          Sign out
        </Button>
      )}
    </Group>
  )
}
