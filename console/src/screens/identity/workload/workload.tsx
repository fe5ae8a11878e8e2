import { Issuers } from './issuers.tsx'
import { Policies } from './policies.tsx'

export function Workload() {
  return (
    <>
      <Issuers />
      <Policies />
    </>
  )
}
