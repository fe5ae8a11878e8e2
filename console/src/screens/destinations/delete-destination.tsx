import { useNavigate } from '@tanstack/react-router'
import { client } from '../../api/client.ts'
import { DangerPanel } from '../../components/danger-panel.tsx'
import { type Destination, nameOf } from './kinds.ts'
import { useDestinationRefresh } from './queries.ts'

export function DeleteDestination({ destination }: { destination: Destination }) {
  const { id } = destination
  const refresh = useDestinationRefresh()
  const navigate = useNavigate()
  const remove = async () => {
    await client.DELETE('/observability/destinations/{id}', { params: { path: { id } } })
    await navigate({ to: '/observability' })
    await refresh()
  }
  return (
    <DangerPanel
      title="Delete the destination"
      description="Its secrets and pending events are deleted. Events that it received are not affected."
      action="Delete"
      name={nameOf(destination)}
      onConfirm={remove}
    >
      This cannot be undone. To stop it temporarily, pause it instead.
    </DangerPanel>
  )
}
