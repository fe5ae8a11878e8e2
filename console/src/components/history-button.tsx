import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { mayDo, useSession } from '../app/session.tsx'

/** Leads to the entries of the audit log about an object, for those who may read them. */
export function HistoryButton({ targetId }: { targetId: string }) {
  if (!mayDo(useSession(), 'audit:read')) return null
  return (
    <Button
      renderRoot={(props) => <Link to="/audit" search={{ target_id: targetId }} {...props} />}
      variant="default"
      size="xs"
    >
      History
    </Button>
  )
}
