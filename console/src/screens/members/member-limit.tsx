import { Text } from '@mantine/core'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { textsOf } from '../../components/budget-intervals.ts'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { LimitFields, type SpendingLimit, toSpendingLimit } from '../../components/limit-fields.tsx'
import { Panel } from '../../components/panel.tsx'
import { UsageBar } from '../../components/usage-bar.tsx'
import { formatMoney } from '../../format/money.ts'

type MemberDetails = Schemas['OrganizationMemberDetails']

/** Shows the spending limit of all keys of a member together, and how much of it is spent. */
export function MemberLimit({ member }: { member: MemberDetails }) {
  const session = useSession()
  return (
    <Panel
      title="Limit for all keys"
      description="All keys of this member together, in all workspaces."
      actions={
        mayDoEverywhere(session, 'members:write') && (
          <DialogButton label="Change limit" variant="default">
            {(close) => <EditLimit member={member} onClose={close} />}
          </DialogButton>
        )
      }
    >
      <LimitUse member={member} />
    </Panel>
  )
}

function LimitUse({ member: { limit, limit_remaining, limit_reset } }: { member: MemberDetails }) {
  if (limit === null || limit_remaining === null) return <Text size="sm">No limit.</Text>
  return (
    <UsageBar used={limit - limit_remaining} limit={limit} interval={textsOf(limit_reset ?? 'lifetime').each}>
      , {formatMoney(limit_remaining)} left
    </UsageBar>
  )
}

function EditLimit({ member, onClose }: { member: MemberDetails; onClose: () => void }) {
  const refresh = useRefresh()
  const [limit, setLimit] = useState<SpendingLimit>(member)
  const save = async () => {
    await client.PATCH('/organization/members/{id}', {
      params: { path: { id: member.id } },
      body: toSpendingLimit(limit),
    })
    await refresh('/organization/members/{id}', '/budgets')
  }
  return (
    <FormDialog title="Change limit" action="Save" onSubmit={save} onClose={onClose}>
      <LimitFields value={limit} onChange={(changes) => setLimit({ ...limit, ...changes })} />
    </FormDialog>
  )
}
