import { Badge, Code, Menu, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'
import { mayDoEverywhere, mayDoIn, type Session, useSession } from '../../../app/session.tsx'
import { ConfirmByName } from '../../../components/confirm-by-name.tsx'
import { DataTable } from '../../../components/data-table.tsx'
import { RowMenu } from '../../../components/row-menu.tsx'
import { useWorkspaceNames } from '../../../components/use-workspaces.ts'
import { describeAction, type Rule } from './rule-draft.ts'
import { RuleForm } from './rule-form.tsx'

/** Rules in the order they are tried. */
export function RuleTable({ rules }: { rules: Rule[] }) {
  const session = useSession()
  const workspaceOf = useWorkspaceNames(rules.map(({ workspace_id }) => workspace_id))
  return (
    <DataTable
      rows={rules}
      keyOf={({ id }) => id}
      minWidth={360}
      columns={[
        { header: 'Position', isNumber: true, visibleFrom: 'sm', render: ({ position }) => position },
        {
          header: 'Name',
          breaksWords: true,
          maxWidth: 240,
          render: ({ name, description, enabled }) => (
            <>
              {name}{' '}
              {!enabled && (
                <Badge color="gray" variant="light" tt="none">
                  disabled
                </Badge>
              )}
              <Text size="xs" c="dimmed">
                {description}
              </Text>
            </>
          ),
        },
        {
          header: 'Condition',
          breaksWords: true,
          maxWidth: 320,
          render: ({ when }) => <Code>{when}</Code>,
        },
        {
          header: 'Effect',
          breaksWords: true,
          maxWidth: 320,
          visibleFrom: 'sm',
          render: ({ then }) => describeAction(then),
        },
        {
          header: 'Workspace',
          breaksWords: true,
          visibleFrom: 'md',
          render: ({ workspace_id }) => (workspace_id === null ? 'All' : workspaceOf(workspace_id)),
        },
        rules.some((rule) => mayChange(session, rule)) && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (rule) => mayChange(session, rule) && <RuleActions rule={rule} />,
        },
      ]}
    />
  )
}

function mayChange(session: Session, { workspace_id }: Rule): boolean {
  return workspace_id === null
    ? mayDoEverywhere(session, 'routing_rules:write')
    : mayDoIn(session, workspace_id, 'routing_rules:write')
}

function RuleActions({ rule }: { rule: Rule }) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const params = { path: { id: rule.id } }
  const toggle = useMutation({
    mutationFn: () => client.PATCH('/routing-rules/{id}', { params, body: { enabled: !rule.enabled } }),
    onSuccess: () => refresh('/routing-rules'),
    onError: ({ message }) => notifications.show({ color: 'red', title: rule.name, message }),
  })
  const remove = async () => {
    await client.DELETE('/routing-rules/{id}', { params })
    await refresh('/routing-rules')
  }
  return (
    <>
      <RowMenu label={`Actions for ${rule.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        <Menu.Item onClick={() => toggle.mutate()}>{rule.enabled ? 'Disable' : 'Enable'}</Menu.Item>
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <RuleForm rule={rule} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the rule"
          name={rule.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          Requests continue with the next rule. To stop this rule temporarily, disable it.
        </ConfirmByName>
      )}
    </>
  )
}
