import { Button, Paper, SimpleGrid, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api } from '../../api/client.ts'
import { type Permission, type Session, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { GrantCredits } from './grant-credits.tsx'
import { budgetsOptions, WorkspaceBudgets } from './workspace-budgets.tsx'

export const screen = createLazyRoute('/credits')({ component: CreditsScreen })

const credits = api.queryOptions('get', '/credits')

function CreditsScreen() {
  const session = useSession()
  const query = useQuery(credits)
  const [isGranting, setGranting] = useState(false)
  const { id, workspaces } = useWorkspace()
  const workspace = workspaces.find((one) => one.id === id) ?? workspaces[0]
  const may = (permission: Permission) => mayDoIn(session, workspace?.id, permission)
  const budgeted = may('budgets:read') ? workspace : undefined
  return (
    <Page
      title="Credits"
      description="Requests are paid from the credits of the organization. Budgets limit what each workspace may spend."
      calls={[callOf(credits), ...(budgeted ? [callOf(budgetsOptions(budgeted.id))] : [])]}
      actions={
        session.permissions.includes('credits:write') && (
          <Button size="xs" onClick={() => setGranting(true)}>
            Add credits
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data: { total_credits, total_usage } }) => (
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            <Figure label="Balance" value={<Money value={total_credits - total_usage} />} />
            <Figure label="Credits added" value={<Money value={total_credits} />} />
            <Figure label="Credits used" value={<Money value={total_usage} />} />
          </SimpleGrid>
        )}
      </QueryView>
      {budgeted && (
        <WorkspaceBudgets key={budgeted.id} workspace={budgeted} mayWrite={may('budgets:write')} />
      )}
      {isGranting && <GrantCredits onClose={() => setGranting(false)} />}
    </Page>
  )
}

/** In the whole organization, or in this workspace. */
function mayDoIn(session: Session, workspaceId: string | undefined, permission: Permission): boolean {
  const own = session.workspaces.find(({ id }) => id === workspaceId)
  return [...session.permissions, ...(own?.permissions ?? [])].includes(permission)
}

function Figure({ label, value }: { label: string; value: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={600} size="xl">
        {value}
      </Text>
    </Paper>
  )
}
