// SPDX-License-Identifier: BSD-3-Clause
// client.js PROTO-FOLDER: calls FabricService with @grpc/grpc-js and @grpc/proto-loader, unmodified.
//
// The calls are a list in JSON on standard input. Each call has an address, a method, a request, the
// optional members ca, cert and key (names of files, for TLS) and count (number of messages after
// which a stream is cancelled). The results are a list in JSON on standard output: the gRPC status
// (code and details) and the messages of each call.
'use strict';

const fs = require('fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const TIMEOUT_MS = 60000;

const definition = loader.loadSync('fabric/v1/fabric_service.proto', {
  includeDirs: [process.argv[2]], keepCase: true, longs: Number, enums: String,
});
const { FabricService } = grpc.loadPackageDefinition(definition).fabric.v1;

function connect(call) {
  const credentials = call.ca
    ? grpc.credentials.createSsl(...[call.ca, call.key, call.cert].map((file) => fs.readFileSync(file)))
    : grpc.credentials.createInsecure();
  return new FabricService(call.address, credentials);
}

function result(error, messages) {
  const code = error ? error.code : grpc.status.OK;
  return { code: grpc.status[code], details: error ? error.details : '', messages };
}

function unary(client, call, options) {
  return new Promise((resolve) => {
    client[call.method](call.request, options, (error, reply) => resolve(result(error, reply ? [reply] : [])));
  });
}

function stream(client, call, options) {
  return new Promise((resolve) => {
    const messages = [];
    const reader = client[call.method](call.request, options);
    reader.on('data', (message) => {
      messages.push(message);
      if (messages.length === call.count) reader.cancel();
    });
    reader.on('error', (error) => resolve(result(error, messages)));
    reader.on('end', () => resolve(result(null, messages)));
  });
}

async function main() {
  const results = [];
  for (const call of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    const client = connect(call);
    const run = FabricService.service[call.method].responseStream ? stream : unary;
    results.push(await run(client, call, { deadline: Date.now() + TIMEOUT_MS }));
    client.close();
  }
  process.stdout.write(JSON.stringify(results));
}

main();
