import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { LimitBar } from '../../components/limit-bar.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { budgetsQuery, creditsQuery } from './queries.ts'

type NearBudget = Schemas['NearBudget']

const kinds: Record<NearBudget['kind'], string> = {
  credits: 'Credits',
  workspace: 'Workspace',
  member: 'Member',
  key: 'API key',
}

/** The budgets of which more than 80 % is used, with their forecast. */
export function NearBudgets({ workspaceId }: { workspaceId: string | null }) {
  const query = useQuery(budgetsQuery({ workspaceId }))
  const credits = useQuery({ ...creditsQuery, enabled: mayDo(useSession(), 'credits:read') })
  const balance = credits.data && credits.data.data.total_credits - credits.data.data.total_usage
  return (
    <Panel
      title="Budgets above 80%"
      description={
        balance !== undefined && (
          <>
            Balance: <Money value={balance} />
          </>
        )
      }
      actions={
        <TextLink to="/budgets" size="sm" aria-label="All budgets">
          All
        </TextLink>
      }
    >
      {query.isPending ? (
        <Skeleton height={44} aria-label="Loading" />
      ) : (
        <QueryView query={query}>{({ data }) => <Budgets budgets={data} />}</QueryView>
      )}
    </Panel>
  )
}

function Budgets({ budgets }: { budgets: NearBudget[] }) {
  if (budgets.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No budget is above 80%.
      </Text>
    )
  }
  return (
    <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
      {budgets.map((budget) => (
        <li
          key={`${budget.kind} ${budget.key_hash ?? budget.workspace_id ?? budget.user_id} ${budget.interval}`}
        >
          <Text size="sm" component="div" truncate>
            {budget.kind !== 'credits' && <OwnerLink budget={budget} />}{' '}
            <Text span inherit c="dimmed">
              {kinds[budget.kind]}
            </Text>
          </Text>
          <LimitBar limit={budget} />
        </li>
      ))}
    </Stack>
  )
}

/** Leads to the record, where the limit can be raised. */
function OwnerLink({ budget }: { budget: NearBudget }) {
  const session = useSession()
  const { kind, name, key_hash, workspace_id, user_id } = budget
  if (kind === 'key' && key_hash !== null && mayDo(session, 'keys:read')) {
    return (
      <TextLink to="/keys/$hash" params={{ hash: key_hash }} inherit>
        {name}
      </TextLink>
    )
  }
  if (kind === 'workspace' && workspace_id !== null && mayDo(session, 'workspaces:read')) {
    return (
      <TextLink to="/workspaces/$id" params={{ id: workspace_id }} inherit>
        {name}
      </TextLink>
    )
  }
  if (kind === 'member' && user_id !== null && mayDo(session, 'members:read')) {
    return (
      <TextLink to="/members/$id" params={{ id: user_id }} inherit>
        {name}
      </TextLink>
    )
  }
  return <>{name}</>
}
