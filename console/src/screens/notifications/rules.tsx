import { Badge, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, mayDoIn, type Session, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Item, ItemList } from '../../components/item-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import type { InitialRule } from './rule-draft.ts'
import { RuleForm } from './rule-form.tsx'
import { describeRule, type Rule, ruleKinds } from './rule-kinds.ts'
import { RuleTest } from './rule-test.tsx'

/** An organization has no more, unless its operator allows it. */
export const rulesOptions = api.queryOptions('get', '/notifications/rules', {
  params: { query: { limit: 100 } },
})

export function Rules({ initial }: { initial: InitialRule }) {
  const session = useSession()
  const query = useQuery(rulesOptions)
  return (
    <Panel
      title="Rules"
      description="Notifications appear below and under the bell. Rules can also send them by e-mail and webhook."
      actions={
        mayDo(session, 'notifications:write') && (
          <DialogButton label="Add a rule" action="add">
            {(close) => <RuleForm initial={initial} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No rules">No rules. Add one, for example for low credits.</EmptyState>
          ) : (
            <RuleList rules={data} />
          )
        }
      </QueryView>
    </Panel>
  )
}

function RuleList({ rules }: { rules: Rule[] }) {
  const session = useSession()
  const workspaceOf = useWorkspaceNames(rules.map(({ workspace_id }) => workspace_id))
  const placeOf = (id: string | null) => (id === null ? 'Whole organization' : workspaceOf(id))
  return (
    <ItemList>
      {rules.map((rule) => (
        <Item key={rule.id} record={rule} actions={mayChange(session, rule) && <RuleActions rule={rule} />}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {ruleKinds[rule.kind].label}
            </Text>
            {!rule.enabled && (
              <Badge color="gray" variant="light" tt="none">
                off
              </Badge>
            )}
          </Group>
          <Text size="sm">{describeRule(rule)}</Text>
          <Text size="sm" c="dimmed">
            {placeOf(rule.workspace_id)} · {describeChannels(rule)}
          </Text>
        </Item>
      ))}
    </ItemList>
  )
}

function mayChange(session: Session, { workspace_id }: Rule): boolean {
  return workspace_id === null
    ? mayDoEverywhere(session, 'notifications:write')
    : mayDoIn(session, workspace_id, 'notifications:write')
}

function describeChannels({ channels: { email, webhook }, digest }: Rule): string {
  const all = [...email, ...(webhook ? [webhook.url] : [])]
  if (all.length === 0) return 'in the list only'
  return `sent to ${all.join(', ')}${digest === 'daily' ? ', once a day' : ''}`
}

function RuleActions({ rule }: { rule: Rule }) {
  const refresh = useRefresh()
  const { label } = ruleKinds[rule.kind]
  const remove = async () => {
    await client.DELETE('/notifications/rules/{id}', { params: { path: { id: rule.id } } })
    await refresh('/notifications/rules')
  }
  return (
    <Group gap="xs">
      <DialogButton label="Edit" description={`Edit ${label}`} variant="default">
        {(close) => <RuleForm rule={rule} onClose={close} />}
      </DialogButton>
      <DialogButton label="Test" description={`Test ${label}`} variant="default">
        {(close) => <RuleTest rule={rule} onClose={close} />}
      </DialogButton>
      <DialogButton label="Delete" description={`Delete ${label}`} color="red" variant="outline">
        {(close) => (
          <ConfirmByName
            title="Delete a rule"
            name={label}
            action="Delete"
            onConfirm={remove}
            onClose={close}
          >
            {describeRule(rule)} Nothing is sent for it any more, including what is waiting to be sent.
          </ConfirmByName>
        )}
      </DialogButton>
    </Group>
  )
}
