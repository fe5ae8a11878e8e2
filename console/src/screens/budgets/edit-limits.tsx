import { useState } from 'react'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, mayDoIn, type Session, useSession } from '../../app/session.tsx'
import type { BudgetNode } from '../../components/budget-intervals.ts'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { type KeyLimit, KeyLimitFields, toKeyLimit } from '../../components/key-limit-fields.tsx'
import { WorkspaceBudgetsForm } from '../../components/workspace-budgets-form.tsx'

/** A button for the limits that are set here: those of workspaces and keys. */
export function EditLimits({ node }: { node: BudgetNode }) {
  const session = useSession()
  const { kind, name, workspace_id, key_hash } = node
  if (kind === 'workspace' && workspace_id && mayDoIn(session, workspace_id, 'budgets:write')) {
    return (
      <DialogButton
        label="Edit budgets"
        description={`Edit budgets of ${name}`}
        variant="default"
        size="compact-xs"
      >
        {(close) => <WorkspaceBudgetsForm node={node} workspaceId={workspace_id} onClose={close} />}
      </DialogButton>
    )
  }
  if (kind === 'key' && key_hash && mayEditKey(session, node)) {
    return (
      <DialogButton
        label="Edit limit"
        description={`Edit limit of ${name}`}
        variant="default"
        size="compact-xs"
      >
        {(close) => <KeyLimitForm node={node} hash={key_hash} onClose={close} />}
      </DialogButton>
    )
  }
  return null
}

/** Some may change only the keys that they created. */
function mayEditKey(session: Session, { workspace_id, user_id }: BudgetNode): boolean {
  if (mayDoIn(session, workspace_id ?? '', 'keys:write')) return true
  return user_id === session.member.id && mayDo(session, 'keys:write')
}

function KeyLimitForm({ node, hash, onClose }: { node: BudgetNode; hash: string; onClose: () => void }) {
  const refresh = useRefresh()
  const [limit, setLimit] = useState<KeyLimit>(() => keyLimitOf(node))
  const save = async () => {
    await client.PATCH('/keys/{hash}', { params: { path: { hash } }, body: toKeyLimit(limit) })
    await refresh('/budgets', '/keys', '/keys/{hash}')
  }
  return (
    <FormDialog title={`Limit of ${node.name}`} action="Save" onSubmit={save} onClose={onClose}>
      <KeyLimitFields value={limit} onChange={(changes) => setLimit({ ...limit, ...changes })} />
    </FormDialog>
  )
}

function keyLimitOf({ limits }: BudgetNode): KeyLimit {
  const own = limits.find(({ kind }) => kind === 'key')
  const interval = own?.interval ?? 'lifetime'
  return {
    limit: own?.limit ?? null,
    limit_reset: interval === 'lifetime' ? null : interval,
    include_byok_in_limit: own?.include_byok ?? false,
  }
}
