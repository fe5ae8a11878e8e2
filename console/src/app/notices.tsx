import { Notifications } from '@mantine/notifications'

/** Short messages in a corner. What is to be shown before this is loaded waits for it. */
export function Notices() {
  return <Notifications position="bottom-right" />
}
