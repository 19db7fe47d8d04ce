// Prints what comes to http://localhost:3000/hook. Events are handled once, however often they are sent.
import { nodeReceiver } from '@gatepost/receiver';
import express from 'express';

const app = express();
app.post(
  '/hook',
  nodeReceiver({ secret: process.env.WEBHOOK_SECRET ?? '' }, async ({ event, action, guid, payload }) => {
    console.log(event, action ?? '', guid, Object.keys(payload));
  }),
);
app.listen(3000);
