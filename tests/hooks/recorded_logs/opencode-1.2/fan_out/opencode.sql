CREATE TABLE `session` (
	`id` text PRIMARY KEY,
	`project_id` text NOT NULL,
	`parent_id` text,
	`slug` text NOT NULL,
	`directory` text NOT NULL,
	`title` text NOT NULL,
	`version` text NOT NULL,
	`share_url` text,
	`summary_additions` integer,
	`summary_deletions` integer,
	`summary_files` integer,
	`summary_diffs` text,
	`revert` text,
	`permission` text,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`time_compacting` integer,
	`time_archived` integer,
	CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
);
CREATE TABLE `message` (
	`id` text PRIMARY KEY,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
);
CREATE TABLE `part` (
	`id` text PRIMARY KEY,
	`message_id` text NOT NULL,
	`session_id` text NOT NULL,
	`time_created` integer NOT NULL,
	`time_updated` integer NOT NULL,
	`data` text NOT NULL,
	CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
);
INSERT INTO "message" VALUES('msg_20dac0fb5001fRPZ2fFHznjSOS','ses_df253f08effeeUgGXfNiPeb7P5',1795525709749,1795525710752,'{"role":"user","time":{"created":1795525709749},"summary":{"diffs":[]},"agent":"build","model":{"providerID":"fake","modelID":"fake"}}');
INSERT INTO "message" VALUES('msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525709925,1795525710692,'{"role":"assistant","time":{"created":1795525709925,"completed":1795525710692},"parentID":"msg_20dac0fb5001fRPZ2fFHznjSOS","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20dac114d001qm49flbtYfAQLu','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710158,1795525710576,'{"role":"user","time":{"created":1795525710158},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dac11db0022iyDtvtZacWqEX','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710299,1795525710579,'{"role":"assistant","time":{"created":1795525710299,"completed":1795525710579},"parentID":"msg_20dac114d001qm49flbtYfAQLu","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dac11c70016drFSvhJL6rfQE','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710299,1795525710560,'{"role":"user","time":{"created":1795525710299},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dac1224002tisVKlMclJt5Ue','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710372,1795525710562,'{"role":"assistant","time":{"created":1795525710372,"completed":1795525710562},"parentID":"msg_20dac11c70016drFSvhJL6rfQE","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dac120e001s9hmOhsQ7XOyYW','ses_df253ee23ffe91kGikikxhp6Wa',1795525710372,1795525710615,'{"role":"user","time":{"created":1795525710372},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dac12620023OoUTA1Rm1K5FO','ses_df253ee23ffe91kGikikxhp6Wa',1795525710434,1795525710620,'{"role":"assistant","time":{"created":1795525710434,"completed":1795525710620},"parentID":"msg_20dac120e001s9hmOhsQ7XOyYW","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dac1242001CXW7qPupb5lErF','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710433,1795525710649,'{"role":"user","time":{"created":1795525710433},"summary":{"diffs":[]},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"tools":{"todowrite":false,"todoread":false,"task":false}}');
INSERT INTO "message" VALUES('msg_20dac12a40019nRypffcLgI5PP','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710500,1795525710668,'{"role":"assistant","time":{"created":1795525710500,"completed":1795525710667},"parentID":"msg_20dac1242001CXW7qPupb5lErF","modelID":"fake","providerID":"fake","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20dac1365001ky2eBaUqsg4FVM','ses_df253f08effeeUgGXfNiPeb7P5',1795525710693,1795525710754,'{"role":"assistant","time":{"created":1795525710693,"completed":1795525710754},"parentID":"msg_20dac0fb5001fRPZ2fFHznjSOS","modelID":"fake","providerID":"fake","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20dac0fb6001WSlXiEuCv5xUoo','msg_20dac0fb5001fRPZ2fFHznjSOS','ses_df253f08effeeUgGXfNiPeb7P5',1795525709756,1795525709756,'{"type":"text","text":"\"[[part:main]] go\"\n"}');
INSERT INTO "part" VALUES('prt_20dac1117001UpixsJjs2A0aue','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710104,1795525710104,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac11190017NgQlUXDl8sEMO','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710105,1795525710581,'{"type":"tool","callID":"call_main_0_0","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"task_id: ses_df253eed3ffe5mZ6C7YmerrpP9 (for resuming to continue this task if needed)\n\n<task_result>\nresult a\n</task_result>","title":"a","metadata":{"sessionId":"ses_df253eed3ffe5mZ6C7YmerrpP9","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525710116,"end":1795525710581}}}');
INSERT INTO "part" VALUES('prt_20dac1130001rrDsIhlUnmHXMm','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710128,1795525710567,'{"type":"tool","callID":"call_main_0_1","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"b","prompt":"[[part:b]] work"},"output":"task_id: ses_df253ee8cffeoNW6LQAcxbuSPE (for resuming to continue this task if needed)\n\n<task_result>\nresult b\n</task_result>","title":"b","metadata":{"sessionId":"ses_df253ee8cffeoNW6LQAcxbuSPE","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525710197,"end":1795525710566}}}');
INSERT INTO "part" VALUES('prt_20dac11710013GRDGlsgUaMY0b','msg_20dac114d001qm49flbtYfAQLu','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710198,1795525710198,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20dac11ad00188tzmS25Br6R3Q','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710254,1795525710625,'{"type":"tool","callID":"call_main_0_2","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"c","prompt":"[[part:c]] work"},"output":"task_id: ses_df253ee23ffe91kGikikxhp6Wa (for resuming to continue this task if needed)\n\n<task_result>\nresult c\n</task_result>","title":"c","metadata":{"sessionId":"ses_df253ee23ffe91kGikikxhp6Wa","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525710301,"end":1795525710625}}}');
INSERT INTO "part" VALUES('prt_20dac11db001G0A26ObP8zrS0f','msg_20dac11c70016drFSvhJL6rfQE','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710301,1795525710301,'{"type":"text","text":"[[part:b]] work"}');
INSERT INTO "part" VALUES('prt_20dac1219001aBAe64uAyk9oB9','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710361,1795525710675,'{"type":"tool","callID":"call_main_0_3","tool":"task","state":{"status":"completed","input":{"subagent_type":"general","description":"d","prompt":"[[part:d]] work"},"output":"task_id: ses_df253edd9ffeEa8tXEm0Y8tI1p (for resuming to continue this task if needed)\n\n<task_result>\nresult d\n</task_result>","title":"d","metadata":{"sessionId":"ses_df253edd9ffeEa8tXEm0Y8tI1p","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"time":{"start":1795525710399,"end":1795525710675}}}');
INSERT INTO "part" VALUES('prt_20dac1224001eokOHUCu4QflGp','msg_20dac120e001s9hmOhsQ7XOyYW','ses_df253ee23ffe91kGikikxhp6Wa',1795525710374,1795525710394,'{"type":"text","text":"[[part:c]] work"}');
INSERT INTO "part" VALUES('prt_20dac1262001vcS263HpQRWGTQ','msg_20dac1242001CXW7qPupb5lErF','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710461,1795525710461,'{"type":"text","text":"[[part:d]] work"}');
INSERT INTO "part" VALUES('prt_20dac12d6001bwFl1ThFgRbTDM','msg_20dac1224002tisVKlMclJt5Ue','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710550,1795525710550,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac12d70019pOAW6PHf66ABp','msg_20dac1224002tisVKlMclJt5Ue','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710552,1795525710554,'{"type":"text","text":"result b","time":{"start":1795525710553,"end":1795525710553}}');
INSERT INTO "part" VALUES('prt_20dac12dd001Tji9Q1MiFhNx0z','msg_20dac1224002tisVKlMclJt5Ue','ses_df253ee8cffeoNW6LQAcxbuSPE',1795525710557,1795525710557,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dac12e9001vm6GMVm4bVw1Cl','msg_20dac11db0022iyDtvtZacWqEX','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710569,1795525710569,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac12e9002hr8U1AGAV2exZC','msg_20dac11db0022iyDtvtZacWqEX','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710570,1795525710571,'{"type":"text","text":"result a","time":{"start":1795525710571,"end":1795525710571}}');
INSERT INTO "part" VALUES('prt_20dac12ed001QuDPuZlj3O72T0','msg_20dac11db0022iyDtvtZacWqEX','ses_df253eed3ffe5mZ6C7YmerrpP9',1795525710573,1795525710573,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dac13060019DlT0AIlvI7uaf','msg_20dac12620023OoUTA1Rm1K5FO','ses_df253ee23ffe91kGikikxhp6Wa',1795525710598,1795525710604,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac130d0011fmQvW1S19eeZD','msg_20dac12620023OoUTA1Rm1K5FO','ses_df253ee23ffe91kGikikxhp6Wa',1795525710605,1795525710606,'{"type":"text","text":"result c","time":{"start":1795525710606,"end":1795525710606}}');
INSERT INTO "part" VALUES('prt_20dac130e001Vx9TQ0uvoZRTLz','msg_20dac12620023OoUTA1Rm1K5FO','ses_df253ee23ffe91kGikikxhp6Wa',1795525710606,1795525710606,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dac1332001rF3ZkSkv8Sq0Bs','msg_20dac12a40019nRypffcLgI5PP','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710642,1795525710642,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac1332002axEcVFyqdgho9C','msg_20dac12a40019nRypffcLgI5PP','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710642,1795525710647,'{"type":"text","text":"result d","time":{"start":1795525710647,"end":1795525710647}}');
INSERT INTO "part" VALUES('prt_20dac1338001LCD3o4rzQUBX2I','msg_20dac12a40019nRypffcLgI5PP','ses_df253edd9ffeEa8tXEm0Y8tI1p',1795525710648,1795525710648,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dac1358001C7SvuMXSvjdmB0','msg_20dac10650019AnjWh2bspaDwU','ses_df253f08effeeUgGXfNiPeb7P5',1795525710680,1795525710680,'{"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "part" VALUES('prt_20dac1397001441dPsaYu4FzDr','msg_20dac1365001ky2eBaUqsg4FVM','ses_df253f08effeeUgGXfNiPeb7P5',1795525710743,1795525710744,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20dac1398001GWEYz3Fqhigyn7','msg_20dac1365001ky2eBaUqsg4FVM','ses_df253f08effeeUgGXfNiPeb7P5',1795525710744,1795525710747,'{"type":"text","text":"All done.","time":{"start":1795525710747,"end":1795525710747}}');
INSERT INTO "part" VALUES('prt_20dac139c001UF4YTiVQdzimPQ','msg_20dac1365001ky2eBaUqsg4FVM','ses_df253f08effeeUgGXfNiPeb7P5',1795525710748,1795525710748,'{"type":"step-finish","reason":"stop","cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session" VALUES('ses_df253f08effeeUgGXfNiPeb7P5','global',NULL,'jolly-rocket','/home/dev/project','ok','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]',1795525709682,1795525710751,NULL,NULL);
INSERT INTO "session" VALUES('ses_df253eed3ffe5mZ6C7YmerrpP9','global','ses_df253f08effeeUgGXfNiPeb7P5','crisp-otter','/home/dev/project','a (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525710124,1795525710575,NULL,NULL);
INSERT INTO "session" VALUES('ses_df253ee8cffeoNW6LQAcxbuSPE','global','ses_df253f08effeeUgGXfNiPeb7P5','calm-star','/home/dev/project','b (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525710195,1795525710560,NULL,NULL);
INSERT INTO "session" VALUES('ses_df253ee23ffe91kGikikxhp6Wa','global','ses_df253f08effeeUgGXfNiPeb7P5','jolly-pixel','/home/dev/project','c (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525710300,1795525710615,NULL,NULL);
INSERT INTO "session" VALUES('ses_df253edd9ffeEa8tXEm0Y8tI1p','global','ses_df253f08effeeUgGXfNiPeb7P5','misty-falcon','/home/dev/project','d (@general subagent)','1.2.11',NULL,0,0,0,NULL,NULL,'[{"permission":"todowrite","pattern":"*","action":"deny"},{"permission":"todoread","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]',1795525710374,1795525710649,NULL,NULL);
